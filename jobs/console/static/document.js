// The page of a document: take selected text as a field's value, and jump from evidence to evidence. It works without.
"use strict";

(() => {
  const text = document.querySelector("[data-text]");
  let taken = null; // what was selected in the text last: its place there, and what it says

  // Code points before an offset, which is how places in the text are counted; hidden text that is not in it counts as
  // nothing, for its element says no start.
  const codePoints = (string) => [...string].length;

  const placeOf = (node, offset) => {
    const holder = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest("[data-start]");
    if (!holder || !text.contains(holder)) return null;
    const before = document.createRange();
    before.setStart(holder, 0);
    before.setEnd(node, offset);
    return Number(holder.dataset.start) + codePoints(before.toString());
  };

  const selected = () => {
    const selection = document.getSelection();
    if (!text || selection.isCollapsed || !selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    const said = selection.toString();
    const value = said.trim();
    if (!value || !text.contains(range.commonAncestorContainer)) return null;
    const start = placeOf(range.startContainer, range.startOffset);
    const end = placeOf(range.endContainer, range.endOffset);
    if (start === null || end === null || end <= start) return { value, start: "", end: "" };
    return { value: value.replace(/\s+/g, " "), start, end };
  };

  const places = (field) =>
    ["start", "end"].map((side) => field.form.elements[`${field.name}.${side}`]).filter(Boolean);

  const take = (field, what) => {
    field.value = what.value;
    for (const each of places(field)) each.value = what[each.name.endsWith(".start") ? "start" : "end"];
    field.classList.toggle("marked", what.start !== "");
    field.focus();
  };

  if (text) {
    for (const button of document.querySelectorAll("[data-take]")) {
      button.hidden = false;
      button.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
      button.addEventListener("click", () => taken && take(document.getElementById(button.dataset.take), taken));
    }
    const follow = () => {
      const now = selected();
      if (now) taken = now;
      for (const button of document.querySelectorAll("[data-take]")) button.disabled = !taken;
    };
    document.addEventListener("selectionchange", follow);
    follow(); // for what was selected before this script was there
  }
  for (const field of document.querySelectorAll("[data-field]")) {
    field.addEventListener("input", () => {
      for (const each of places(field)) each.value = ""; // what is typed stands nowhere
      field.classList.remove("marked");
    });
  }

  // Jump to the next piece of evidence on this page; from the last one to the first.
  const jump = document.querySelector("[data-jump]");
  const links = [...document.querySelectorAll(".places [data-evidence]")];
  if (jump && links.length) {
    jump.hidden = false;
    jump.addEventListener("click", () => {
      const at = links.findIndex((link) => link.hash === location.hash && link.pathname === location.pathname);
      links[(at + 1) % links.length].click();
    });
  }
})();
