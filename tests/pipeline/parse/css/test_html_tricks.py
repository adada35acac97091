"""Tricks that hide text in ways that are not computed: none reaches the model without a person who looks at it."""

import pytest

from pipeline.errors import DocumentError

_STYLES = {
    "box of some height": "height:20px;overflow:hidden;padding-top:400px;box-sizing:border-box",
    "box lower than its text": "height:9px;overflow:clip",
    "box as high as nothing, by another axis": "block-size:0;overflow:hidden",
    "logical width": "inline-size:0;overflow:hidden;white-space:nowrap",
    "greatest height without overflow": "max-height:3px",
    "size of a container": "contain:size layout paint;overflow:hidden",
    "clamped lines": "display:-webkit-box;-webkit-line-clamp:1;-webkit-box-orient:vertical;overflow:hidden",
    "clip path by a polygon": "clip-path:polygon(0 0,1px 0,0 1px)",
    "clip path elsewhere": "clip-path:url(#nothing)",
    "clip path of a path": "clip-path:path('M0 0')",
    "mask of a picture": "mask:url(data:image/svg+xml,x)",
    "border of a mask": "-webkit-mask-box-image:url(x)",
    "object view box": "object-view-box:inset(50%)",
    "margin of the clipped box": "overflow:clip;overflow-clip-margin:0px;height:calc(1% + 0px)",
    "colour of a mixture": "color:color-mix(in srgb, white, white)",
    "colour from another": "color:rgb(from white r g b)",
    "colour of a wide gamut": "color:color(display-p3 1 1 1)",
    "colour of the system": "color:Canvas",
    "colour of a button's face": "color:ButtonFace;background:ButtonFace",
    "colour by scheme": "color:light-dark(white, black)",
    "colour of contrast": "color:contrast-color(black)",
    "background in a wide gamut": "background:color(display-p3 0 0 0)",
    "background that is black in Lab": "background:lab(0 0 0)",
    "gradient of the text's colour": "background:linear-gradient(#000,#000)",
    "picture in the page": "background:url(data:image/png;base64,AAAA)",
    "white on a picture elsewhere": "color:#fff;background:url(white.png)",
    "picture of the border": "border-image:linear-gradient(#000,#000) 1 fill",
    "shadow inside": "box-shadow:inset 0 0 0 99px #000",
    "ground blended": "background:#fff;background-blend-mode:difference",
    "opacity of a calculation": "opacity:calc(1 - 1)",
    "opacity of an unknown function": "opacity:calc(sign(1px) - 1)",
    "filter of the backdrop": "backdrop-filter:brightness(0)",
    "filter of a colour": "filter:sepia(1) contrast(0)",
    "filter in the page": "filter:url(#f)",
    "blended": "mix-blend-mode:color-dodge",
    "stroke over the letters": "-webkit-text-stroke:9px #fff",
    "stroke painted last": "paint-order:fill stroke;stroke:#fff;stroke-width:9px",
    "decoration over the letters": "text-decoration:line-through 1em #fff",
    "thick decoration": "text-decoration-line:line-through;text-decoration-thickness:1em;text-decoration-color:#fff",
    "letters as discs": "-webkit-text-security:disc",
    "letters of another size": "font-size-adjust:0",
    "palette of the font": "font-palette:--white",
    "size in units of a container": "font-size:1cqw",
    "size by power": "font-size:pow(0.1,2)",
    "half a thousand points to the left": "position:relative;left:-500pt",
    "up by some lines": "position:relative;top:-400px",
    "logical inset": "position:absolute;inset-inline-start:-700px",
    "from the right": "position:absolute;right:900px",
    "from below": "position:fixed;bottom:900px",
    "by percentages": "position:absolute;left:-300%",
    "sticky": "position:sticky;top:-500px;transform:none;translate:-900px",
    "margin of percentages": "margin-left:-200%",
    "margin to the right": "direction:rtl;margin-right:-900px",
    "margin of a calculation": "margin-left:calc(-100% - 9em)",
    "indent of a calculation": "text-indent:calc(-100% - 1px)",
    "indent of percentages": "text-indent:-400%",
    "padding in a box that is cut": "overflow:hidden;width:120px;padding-left:900px;text-indent:900px",
    "anchor": "position:absolute;position-anchor:--a;top:anchor(bottom)",
    "letters far apart": "letter-spacing:3000px",
    "words far apart": "word-spacing:-30em",
    "turned over": "transform:rotateY(90deg)",
    "turned in space": "transform:perspective(1px) translateZ(-9999px)",
    "scaled by a property": "scale:0.001",
    "moved along a path": "offset:path('M-900 0 L-900 1')",
    "moved by a property": "translate:calc(-1 * 900px)",
    "zoomed": "zoom:0.01",
    "seen from behind": "backface-visibility:hidden;transform:rotateY(180deg)",
    "animated": "animation:k 1s",
    "animated by scrolling": "animation-timeline:scroll();animation-name:k",
    "below its ground": "position:relative;z-index:-3",
    "written upwards in a flat box": "writing-mode:vertical-rl;height:1em;overflow:hidden",
    "combined upright": "text-combine-upright:all",
    "in a region": "flow-into:nothing",
    "reader's mode": "mso-hide:all",
    "skipped": "content-visibility:hidden",
    "replaced by a picture": "content:url(data:image/png,x)",
    "not of today": "vanish:now",
    "lines on one another": "line-height:0.1",
    "round corners": "overflow:hidden;border-top-left-radius:50%",
    "tabs of any width": "tab-size:9999;white-space:pre",
    "raised beyond its line": "display:inline;vertical-align:900px",
    "letters larger than a window": "font-size:9000px",
    "deep below": "margin-top:90000px",
}
_PAGES = {
    "first line": "<style>p::first-line{color:#fff}</style><p>zebra",
    "first letters": "<style>i::first-letter{font-size:0}</style><i style='display:block'>zebra</i>",
    "parts of details": "<style>details::details-content{opacity:0}</style>"
    "<details open><summary>x</summary>zebra</details>",
    "details": "<details><summary>x</summary>zebra</details>",
    "shadow root": "<div><template shadowrootmode=open>shown</template>zebra</div>",
    "text in a list of options": "<select multiple><p>zebra</p><option>x</select>",
    "phantom": "<math><mphantom><mi>zebra</mi></mphantom></math>",
    "part of a formula in white": "<math><mi mathcolor=white>zebra</mi></math>",
    "formula of no width": "<math><mpadded width=0><mi>zebra</mi></mpadded></math>",
    "formula in white": "<div style='color:#fff'><math><mi>zebra</mi></math></div>",
    "column that is collapsed": "<table><col style='visibility:collapse'><tr><td>zebra</table>",
    "words of a drawing beyond it": "<svg viewBox='0 0 9 9'><text x=900>zebra</text></svg>",
    "words under an area": "<svg><text>zebra</text><rect width=99 height=99 fill=white /></svg>",
    "ever smaller": "<small>" * 9 + "zebra" + "</small>" * 9,
    "cover by a dialog": "<dialog open>x</dialog><p>zebra",
    "marquee": "<marquee height=1>zebra</marquee>",
    "frame that does not scroll": "<iframe scrolling=no height=9 srcdoc='<p style=margin-top:99px>zebra'></iframe>",
    "cover after it": "<style>p::after{content:'';position:absolute;inset:0;background:#fff}</style><p>zebra",
    "cover by an outline": "<p>zebra<p style='position:relative;top:-40px;outline:99px solid #fff'>x",
    "cover by a picture": "<p>zebra<img style='margin-top:-40px' src=white.png>",
    "cover by a fixed box": "<div style='position:fixed;top:0;background:#fff;width:99%;height:99%'></div><p>zebra",
    "cover in the same track": "<div style='display:grid'>"
    "<p style='grid-area:1/1'>zebra<p style='grid-area:1/1;background:#fff'>x</div>",
    "cover by a wide border": "<p>zebra<div style='position:absolute;top:0;border-top:900px solid #fff'></div>",
    "picture pulled up by the text": "<p style='margin-bottom:-40px'>zebra</p><img src=white.png>",
    "rule of a container": "<style>@container (width > 1px){p{display:none}}</style><p>zebra",
    "rule of a scope with an end": "<style>@scope (body) to (i){p{opacity:0}}</style><p>zebra",
    "rule that begins": "<style>@starting-style{p{opacity:0}}</style><p>zebra",
    "rule of tomorrow": "<style>@when media(screen){p{opacity:0}}</style><p>zebra",
    "registered variable": "<style>@property --o{syntax:'*';inherits:true;initial-value:0} p{opacity:var(--o)}</style>"
    "<p>zebra",
    "unknown feature of a medium": "<style>@media (shape:rect){p{opacity:0}}</style><p>zebra",
    "medium of the element": "<style media='(shape:rect)'>p{opacity:0}</style><p>zebra",
    "nth child of a selector": "<style>p:nth-child(1 of p){opacity:0}</style><p>zebra",
    "language": "<style>p:lang(de){opacity:0}</style><p lang=de>zebra",
    "direction": "<style>p:dir(ltr){opacity:0}</style><p>zebra",
    "relation": "<style>p:has(+ i){opacity:0}</style><p>zebra</p><i>x</i>",
    "not a relation": "<style>p:not(:has(b)){color:#fff}</style><p>zebra",
    "state of an element": "<style>:state(x), p:open{opacity:0} p:muted{opacity:0}</style><p>zebra",
    "letters that the page brings along": "<style>@font-face{font-family:F;src:url(data:font/woff2;base64,AA)}"
    "p{font-family:F}</style>"
    "<p>zebra",
    "white beside its ground": "<div style='background:#000'>"
    "<p style='position:absolute;top:300px;color:#fff'>zebra</div>",
    "pushed out of a box that is cut": "<div style='overflow:hidden'><p style='padding-left:1300px'>zebra</div>",
    "pushed out of a low box": "<div style='overflow:hidden;height:20px'><p style='padding-top:90px'>zebra</div>",
    "narrow track": "<div style='display:grid;grid-template-columns:0'><p style='overflow:hidden'>zebra</div>",
    "item that shrinks": "<div style='display:flex;width:0'><p style='overflow:hidden'>zebra</div>",
    "dark page": "<meta name=color-scheme content=dark><p style='background:#fff'>zebra",
    "imported style": "<style>@import 'data:text/css,p%7Bopacity:0%7D' (shape:rect);</style>"
    "<p style='color:white'>zebra",
}  # fmt: skip
_ALL = [
    *(pytest.param(f'<p style="{style}">zebra zebra zebra</p>', id=name) for name, style in _STYLES.items()),
    *(pytest.param(markup, id=name) for name, markup in _PAGES.items()),
]


def test_the_colour_of_links(parse) -> None:
    assert "zebra" not in parse(b"<!doctype html><body link=white>before <a href=x>zebra</a>", "page.html").text


@pytest.mark.parametrize("markup", _ALL)
def test_what_is_not_computed_is_told(parse, markup: str) -> None:
    try:
        parsed = parse(f"<!doctype html><html><body><h6>before</h6>{markup}</body></html>".encode(), "page.html")
    except DocumentError as error:
        pytest.fail(error.reason)
    assert "zebra" not in parsed.text or parsed.unsure
    assert "before" in parsed.text
