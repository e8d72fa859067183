// Light or dark: what the system prefers, unless the user chose. Runs before the page is painted.
(function () {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be switched off
    }
  }

  function dark() {
    const own = chosen();
    return own === "dark" || (own !== "light" && system.matches);
  }

  function show() {
    root.dataset.theme = dark() ? "dark" : "light";
    const button = document.getElementById("theme-toggle");
    if (button) {
      button.textContent = dark() ? "Light" : "Dark";
      button.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
      button.hidden = false;
    }
    document.dispatchEvent(new CustomEvent("theme"));
  }

  show();
  system.addEventListener("change", show);
  addEventListener("storage", show);
  document.addEventListener("DOMContentLoaded", () => {
    show();
    const button = document.getElementById("theme-toggle");
    if (!button) return;
    button.addEventListener("click", () => {
      try {
        localStorage.setItem("theme", dark() ? "light" : "dark");
      } catch {
        root.dataset.theme = dark() ? "light" : "dark";
      }
      show();
    });
  });
})();
