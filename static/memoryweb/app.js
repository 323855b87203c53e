// What pages cannot do without a script: the reader's time zone, and the keyboard on the review page.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split("; ").includes(`zone=${zone}`)) {
    document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax`;
  }

  // The id of the row that keys are for: the row itself is another one after each swap.
  let chosen = "";
  const candidates = () => [...document.querySelectorAll(".candidate")];
  const current = () => document.getElementById(chosen);

  function choose(one) {
    if (!one) return;
    current()?.classList.remove("current");
    chosen = one.id;
    one.classList.add("current");
    one.tabIndex = -1;
    one.focus({ preventScroll: true });
    one.scrollIntoView({ block: "nearest" });
    // Others see who is looking at it.
    const look = one.querySelector("[data-look]");
    if (look) htmx.trigger(look, "look");
  }

  function move(step) {
    const all = candidates();
    const place = all.indexOf(current());
    choose(all[Math.min(Math.max(place + step, 0), all.length - 1)]);
  }

  function press(verb) {
    current()?.querySelector(`button[data-verb="${verb}"]`)?.click();
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press("approve"),
    d: () => press("dismiss"),
    u: () => press("revert"),
    s: () => move(1),
    o: () => current()?.querySelector("a[data-open]")?.click(),
    "?": () => {
      const help = document.getElementById("keys");
      if (help) help.open = !help.open;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !document.querySelector("[data-keys]")) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  // The event of the row that is swapped out does not come here; that of the new one does.
  document.addEventListener("htmx:load", () => current()?.classList.add("current"));
})();
