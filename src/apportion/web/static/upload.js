// A file that is chosen is shown at once, and again when another column, sheet or period is chosen.
// The same form works without this: there is a button.

const form = document.querySelector("form[data-look]");
let latest = 0;

async function look(focus) {
  const number = ++latest;
  const body = new FormData(form);
  body.set("action", "look");
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { "X-Live": "1", Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const updated = fresh.getElementById("look");
    if (!updated || number !== latest) return; // a newer one is under way
    document.getElementById("look").replaceChildren(...updated.childNodes);
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    document.dispatchEvent(new CustomEvent("looked", { detail: fresh }));
  } catch {
    // nothing was shown; the button does the same
  }
}

form.addEventListener("change", (event) => {
  if (event.target.matches("[data-shows]") && document.getElementById("history").files.length) look(event.target.id);
});

form.addEventListener("submit", (event) => {
  if (event.submitter?.value !== "look") return;
  event.preventDefault();
  look("");
});
