// The console's whole script: keys, and counts that follow a run. Every page works without it.
"use strict";

(() => {
  const EVERY = 3000;

  // Keys. Whatever bears data-key="x" is clicked (a field: focused) by that key, unless somebody is typing.
  const typing = (target) =>
    target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(event.target)) {
      event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    for (const element of document.querySelectorAll("[data-key]")) {
      if (element.dataset.key !== event.key) continue;
      event.preventDefault();
      if (typing(element)) element.focus();
      else element.click();
      return;
    }
  });

  // A form that was sent is not sent twice by a second click.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // its tokens are spent
  });

  // Selects of a filter apply at once.
  document.addEventListener("change", (event) => {
    if (event.target.form && event.target.form.dataset.applies !== undefined) event.target.form.requestSubmit();
  });

  // Live counts. data-live="name" is filled with that member of /live.json, a <progress> with its value. When the
  // member "turn" changes, a run began or ended, and the page is loaded again.
  const live = [...document.querySelectorAll("[data-live]")];
  const page = document.querySelector("[data-live-turn]");

  const fill = (told) => {
    for (const element of live) {
      const value = told[element.dataset.live];
      if (value === undefined) continue;
      if (element.tagName === "PROGRESS") element.value = value;
      else if (element.textContent !== String(value)) element.textContent = value;
    }
    if (page && told.turn !== page.dataset.liveTurn && !typing(document.activeElement)) location.reload();
  };

  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch("/live.json", { headers: { Accept: "application/json" } });
        if (answer.ok) fill(await answer.json());
      } catch {
        // the console is being started again: the next look finds it
      }
    }
    setTimeout(look, EVERY);
  };

  if (live.length || page) setTimeout(look, EVERY);
})();
