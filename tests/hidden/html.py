"""Pages that hide text by markup and styles, and pages that only look as if they did."""

from tests.hidden.base import Technique

HIDDEN, SHOWN = "zebra", "before"
_PLACE = "position:absolute;top:0;left:0"
_MARKED = {
    "attribute hidden": "<p hidden>zebra</p>",
    "hidden until found": "<p hidden=until-found style='display:block'>zebra</p>",
    "display none": "<p style='DISPLAY : None'><b>zebra</b></p>",
    "display none after an invalid value": "<p style='display:none;display:banana'>zebra</p>",
    "visibility hidden": "<div style='visibility:hidden'><p>zebra</p></div>",
    "content-visibility": "<div style='content-visibility:hidden'><p>zebra</p></div>",
    "closed dialog": "<dialog>zebra</dialog>",
    "popover": "<div popover>zebra</div>",
    "closed details": "<details>zebra<summary>more</summary>zebra <b>zebra</b><summary>zebra</summary></details>",
    "template": "<template><p>zebra</p></template>",
    "noscript": "<noscript>zebra</noscript>",
    "hidden input": "<input type=hidden value=zebra>",
    "fallback of a canvas": "<canvas>zebra</canvas>",
    "text of a drawing outside of text": "<svg width=9 height=9><g>zebra</g></svg>",
    "frame of no size": "<iframe width=0 height=0 srcdoc='<p>zebra'></iframe>",
    "frame that is not displayed": "<iframe style='display:none' srcdoc='<p>zebra'></iframe>",
}
_SELECTED = {
    "attribute selector": "<style>[data-x]{display:none}</style><p data-x>zebra</p>",
    "attribute selector with a value": "<style>p[data-x^='ab' i]{display:none}</style><p data-x=ABC>zebra</p>",
    "selector is": "<style>:is(.a, .b){display:none}</style><p class=b>zebra</p>",
    "selector where and not": "<style>:where(p):not(.a){display:none}</style><p>zebra</p><p class=a>show</p>",
    "descendants": "<style>.a .b p{display:none}</style><div class=a><div class=b><div><p>zebra</p></div></div></div>",
    "children": "<style>section > p{display:none}</style><section><p>zebra</p></section>",
    "siblings": "<style>h2 + p, h3 ~ p{display:none}</style><h2>show</h2><p>zebra</p>",
    "compound": "<style>p.a.b#c{display:none}</style><p class='b a' id=c>zebra</p>",
    "nth child": "<style>li:nth-child(2n){display:none}</style><ul><li>show<li>zebra</ul>",
    "last child": "<style>li:last-child{display:none}</style><ul><li>show<li>zebra</ul>",
    "has": "<style>div:has(> b){display:none}</style><div><b>x</b>zebra</div>",
    "nesting": "<style>.a{ color:black; & .b{display:none} }</style><div class=a><p class=b>zebra</p></div>",
    "media of screens": "<style>@media screen and (min-width: 300px){.a{display:none}}</style><p class=a>zebra</p>",
    "supports": "<style>@supports (display: grid){.a{display:none}}</style><p class=a>zebra</p>",
    "layers": "<style>@layer a, b; @layer b{p.x{display:none}} @layer a{p.x.x{display:block}}</style>"
    "<p class=x>zebra</p>",
    "important": "<style>p{display:none!important} #x{display:block}</style><p id=x style='display:block'>zebra</p>",
    "specificity": "<style>p.x{display:none} p{display:block}</style><p class=x>zebra</p>",
    "pseudo-element in the list": "<style>.x, .x::before{display:none}</style><p class=x>zebra</p>",
    "sheet in an address": "<link rel=stylesheet href='data:text/css,.x%7Bdisplay:none%7D'><p class=x>zebra</p>",
    "escaped property": "<style>.x{d\\69splay:none}</style><p class=x>zebra</p>",
    "end of an animation": "<style>@keyframes k{to{opacity:0}} .x{animation:k 1s forwards}</style><p class=x>zebra</p>",
}
_DRAWN = {
    "scale": "<p style='transform:scale(0)'>zebra</p>",
    "property scale": "<p style='scale:0.01'>zebra</p>",
    "zoom": "<p style='zoom:.01'>zebra</p>",
    "scaleX": "<p style='transform:translate(5px) scaleX(.01)'>zebra</p>",
    "scaleY": "<p style='transform:scaleY(0)'>zebra</p>",
    "matrix": "<p style='transform:matrix(0,0,0,0,0,0)'>zebra</p>",
    "turned away": "<p style='transform:rotateX(90deg)'>zebra</p>",
    "scales multiplied": "<div style='scale:.2'><div style='scale:.2'><p style='scale:.2'>zebra</p></div></div>",
    "translated away": "<p style='transform:translate(-9999px, 0)'>zebra</p>",
    "property translate": "<p style='translate:-200vw'>zebra</p>",
    "placed far off": f"<p style='{_PLACE.replace('left:0', 'left:-9999px')}'>zebra</p>",
    "placed far off to the right": f"<p style='{_PLACE.replace('left:0', 'left:99999px')}'>zebra</p>",
    "negative margin": "<p style='margin-left:-9999px'>zebra</p>",
    "indented away": "<p style='text-indent:-9999px'>zebra</p>",
    "indented past its end": "<p style='text-indent:100%;white-space:nowrap;overflow:hidden'>zebra</p>",
    "rectangle": f"<p style='{_PLACE};clip:rect(1px,1px,1px,1px)'>zebra</p>",
    "clip-path": "<p style='clip-path:circle(0)'>zebra</p>",
    "clip-path of four sides": "<p style='clip-path:inset(0 100% 0 0)'>zebra</p>",
    "flat polygon": "<p style='clip-path:polygon(0 0, 0 0, 0 0)'>zebra</p>",
    "no height": "<div style='height:0;overflow:hidden'><p>zebra</p></div>",
    "greatest height": "<div style='max-height:calc(1px - 1px);overflow:hidden'>zebra</div>",
    "no width": "<div style='width:1px;height:1px;overflow:hidden'>zebra</div>",
    "lines of no height": "<div style='line-height:0;overflow:hidden'>zebra</div>",
    "mask": "<p style='-webkit-mask-image:linear-gradient(transparent,transparent)'>zebra</p>",
    "under an opaque box": f"<div style='position:relative'><p>zebra</p>"
    f"<div style='{_PLACE};width:100%;height:100%;background:#fff'></div></div>",
    "under the background around it": "<div style='background:#fff'><p style='position:relative;z-index:-1'>zebra</p>"
    "</div>",
}
_SIZED = {
    "letters of 1 px": "<p style='font-size:1px'>zebra</p>",
    "letters of no size in calc": "<p style='font-size:calc(1em - 15.5px)'>zebra</p>",
    "letters of no size in clamp": "<p style='font-size:clamp(0px, 10vw, .5px)'>zebra</p>",
    "shorthand of fonts": "<p style='font:italic 0/0 serif'>zebra</p>",
    "letters on one another": "<p style='letter-spacing:-1em'>zebra</p>",
    "letters of no size in quirks mode": "<p style='font-size:0.5'>zebra</p>",
}
_COLOURED = {
    "hsl": "<p style='color:hsl(0 0% 100%)'>zebra</p>",
    "hwb": "<p style='color:hwb(120 100% 0%)'>zebra</p>",
    "lab": "<p style='color:lab(100 0 0)'>zebra</p>",
    "oklch": "<p style='color:oklch(1 0 0)'>zebra</p>",
    "color function": "<p style='color:color(srgb 1 1 1)'>zebra</p>",
    "named colour": "<p style='color:seashell'>zebra</p>",
    "grey of 95 %": "<p style='color:#f2f2f2'>zebra</p>",
    "alpha": "<p style='color:rgba(0,0,0,.01)'>zebra</p>",
    "alpha in hex": "<p style='color:#00000003'>zebra</p>",
    "transparent": "<p style='color:transparent'>zebra</p>",
    "variable": "<style>:root{--a:#fff}</style><p style='color:var(--a)'>zebra</p>",
    "variable of a variable": "<style>body{--a:none;--b:var(--a)}.x{display:var(--b, block)}</style>"
    "<p class=x>zebra</p>",
    "fallback of a variable": "<p style='opacity:var(--nothing, 0)'>zebra</p>",
    "part of a colour": "<p style='--a:0;color:rgb(0 0 0 / var(--a))'>zebra</p>",
    "fill of letters": "<p style='-webkit-text-fill-color:white'>zebra</p>",
    "opacity": "<p style='opacity:1%'>zebra</p>",
    "opacities multiplied": "<div style='opacity:.2'><div style='opacity:.2'><p>zebra</p></div></div>",
    "filter": "<p style='filter:opacity(0)'>zebra</p>",
    "filter of brightness": "<p style='color:#333;filter:brightness(9)'>zebra</p>",
    "filter that inverts": "<p style='filter:invert(1)'>zebra</p>",
    "blurred": "<p style='filter:blur(30px)'>zebra</p>",
    "blended": "<p style='mix-blend-mode:screen'>zebra</p>",
    "same as a gradient": "<p style='background:linear-gradient(navy,navy);color:navy'>zebra</p>",
    "same as the cell": "<table bgcolor=#123456><tr><td><font color=#123456>zebra</font></table>",
    "black on black": "<div style='background:#000'>zebra</div>",
    "translucent background": "<p style='background:rgba(0,0,0,.5);color:#7f7f7f'>zebra</p>",
    "white in a drawing": "<svg><text fill=white>zebra</text></svg>",
    "no fill in a drawing": "<svg><text style='fill:none'>zebra</text></svg>",
}
_HIDING = {**_MARKED, **_SELECTED, **_DRAWN, **_SIZED, **_COLOURED}
_CONTROLS = {
    "visible child of a hidden box": "<div style='visibility:hidden'><p style='visibility:visible'>show</p></div>",
    "white on a dark box": "<p style='color:white;background:#003366'>show</p>",
    "white on a picture": "<div style='background:url(x.png)'><p style='color:#fff'>show</p></div>",
    "aria-hidden": "<p aria-hidden=true>show</p>",
    "inert": "<p inert>show</p>",
    "small print": "<p style='font-size:8px'>show</p>",
    "pale grey": "<p style='color:#999999'>show</p>",
    "half opaque": "<p style='opacity:.5'>show</p>",
    "scaled down a little": "<p style='transform:scale(.5) translate(10px, 10px) rotate(90deg)'>show</p>",
    "scaled down and up": "<div style='scale:.01'><p style='scale:100'>show</p></div>",
    "transform of an inline element": "<p><span style='transform:scale(0)'>show</span></p>",
    "size of an inline element": "<p><span style='width:0;height:0;overflow:hidden'>show</span></p>",
    "no height, but what overflows is shown": "<div style='height:0'>show</div>",
    "no height, but padding": "<div style='height:0;padding-top:40px;overflow:hidden'>show</div>",
    "out of a flat box": f"<div style='height:0;overflow:hidden'><p style='{_PLACE}'>show</p></div>",
    "place that does not count": "<p style='left:-9999px;top:-9999px'>show</p>",
    "placed back": "<div style='position:absolute;left:-9999px'><p style='position:fixed;left:0'>show</p></div>",
    "property that is overridden": "<style>.x{display:none} p.x{display:block}</style><p class=x>show</p>",
    "invalid values": "<p style='display:nothing;color:#ggg;font-size:-1px;opacity:none'>show</p>",
    "pseudo-element": "<style>p::before, p:hover{display:none}</style><p>show</p>",
    "other selector": "<style>.a > .b{display:none} p:not(p){display:none}</style><div class=a><div><p class=b>show</p>"
    "</div></div>",
    "media of print": "<style>@media print{p{display:none}} @media (max-width:600px){p{display:none}}</style>"
    "<p>show</p>",
    "supports of nothing": "<style>@supports not (display: block){p{display:none}}</style><p>show</p>",
    "later layer": "<style>@layer a{p{display:none}} p{display:block}</style><p>show</p>",
    "unknown function": "<p style='color:color-mix(in srgb, white, black)'>show</p>",
    "letters filled by a gradient": "<h1 style='background:linear-gradient(red,blue);-webkit-background-clip:text;"
    "color:transparent'>show</h1>",
    "letters with a shadow": "<p style='color:white;text-shadow:0 0 3px #000'>show</p>",
    "white, inverted": "<div style='filter:invert(1)'><p style='color:#fff'>show</p></div>",
    "beginning of an animation": "<style>@keyframes k{from{opacity:0}to{opacity:1}} .x{opacity:0;animation:k 1s both}"
    "</style><p class=x>show</p>",
    "over an opaque box": f"<div style='position:relative'><div style='{_PLACE};width:100%;height:100%;"
    "background:#036'></div><p style='position:relative;color:#fff;background:#036'>show</p></div>",
    "spaced letters": "<p style='letter-spacing:-.05em;word-spacing:-2px;line-height:0'>show</p>",
    "in a drawing": "<svg><text x=1 fill=navy>show</text></svg>",
    "rectangle without a place": "<p style='clip:rect(0,0,0,0)'>show</p>",
    "variable that is not set": "<p style='display:var(--nothing)'>show</p>",
    "negative layer on the page": "<p style='position:relative;z-index:-1'>show</p>",
}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [_page(name, markup, (HIDDEN,), (SHOWN,)) for name, markup in _HIDING.items()]
    return hiding + [_page(f"control: {name}", markup, (), (SHOWN, "show")) for name, markup in _CONTROLS.items()]


def _page(name: str, markup: str, hidden: tuple[str, ...], shown: tuple[str, ...]) -> Technique:
    kind = "" if "quirks" in name else "<!doctype html>"
    page = f"{kind}<html><body><h6>{SHOWN}</h6>{markup}</body></html>"
    return Technique(
        name, "page.html", page.encode(), hidden, (*shown, "show") if hidden and "show" in markup else shown
    )
