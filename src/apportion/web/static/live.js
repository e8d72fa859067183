// When someone else changes something, the page follows: its parts are fetched again and put in place, and nothing
// that is being typed is lost.

const SELECTOR = "[data-live]";
const note = document.getElementById("live-note");
let wanted = false;
let busy = false;

/** What the user typed or opened below an element, by id. */
function collect(region) {
  const typed = { fields: new Map(), open: new Set(), focus: null };
  for (const field of region.querySelectorAll("input, select, textarea")) {
    if (field.type === "hidden" || !field.id) continue;
    const changed = field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.tagName === "SELECT"
        ? [...field.options].some((option) => option.selected !== option.defaultSelected)
        : field.value !== field.defaultValue;
    if (changed) typed.fields.set(field.id, { value: field.value, checked: field.checked });
  }
  for (const details of region.querySelectorAll("details[open][id]")) typed.open.add(details.id);
  const active = document.activeElement;
  if (active && region.contains(active)) {
    typed.focus = { name: active.id, start: safely(() => active.selectionStart), end: safely(() => active.selectionEnd) };
  }
  return typed;
}

function safely(look) {
  try {
    return look();
  } catch {
    return null; // some kinds of fields have no selection
  }
}

/** Put back what was typed; true if a field is gone. */
function restore(region, typed) {
  let lost = false;
  for (const [id, state] of typed.fields) {
    const field = document.getElementById(id);
    if (!field || !region.contains(field)) {
      lost = true;
    } else if (field.type === "checkbox" || field.type === "radio") {
      field.checked = state.checked;
    } else {
      field.value = state.value;
    }
  }
  for (const id of typed.open) document.getElementById(id)?.setAttribute("open", "");
  if (typed.focus?.name) {
    const field = document.getElementById(typed.focus.name);
    if (field) {
      field.focus({ preventScroll: true });
      if (typed.focus.start !== null) safely(() => field.setSelectionRange(typed.focus.start, typed.focus.end));
    }
  }
  return lost;
}

/** Without what differs from one rendering to the next and means nothing. */
function essence(region) {
  const copy = region.cloneNode(true);
  for (const field of copy.querySelectorAll("input[type=hidden][name=key]")) field.removeAttribute("value");
  for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
  return copy.innerHTML;
}

async function update() {
  if (busy) {
    wanted = true;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { "X-Live": "1", Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    let changed = false;
    let lost = false;
    for (const region of document.querySelectorAll(SELECTOR)) {
      const updated = fresh.getElementById(region.id);
      if (!updated) continue;
      for (const { name, value } of updated.attributes) region.setAttribute(name, value);
      if (essence(region) === essence(updated)) continue;
      const typed = collect(region);
      region.replaceChildren(...updated.childNodes);
      lost = restore(region, typed) || lost;
      changed = true;
    }
    if (changed) {
      const change = document.querySelector("[data-change]")?.dataset.change;
      const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      note.textContent = `Updated ${time}${change ? `: ${change}` : ""}.${lost ? " A field you had filled is gone: it was recorded meanwhile." : ""}`;
      document.dispatchEvent(new CustomEvent("live:updated"));
    }
  } catch {
    // the stream comes back by itself, and with it the next update
  } finally {
    busy = false;
    if (wanted) {
      wanted = false;
      update();
    }
  }
}

const source = document.body.dataset.stream;
if (source && window.EventSource) {
  let stream = null;
  const version = () => document.querySelector("[data-version]")?.dataset.version ?? "";
  const listen = () => {
    // With the version that is shown, so that nothing is missed between the page and its stream.
    stream = new EventSource(`${source}?since=${encodeURIComponent(version())}`);
    stream.addEventListener("change", (event) => {
      const data = safely(() => JSON.parse(event.data)) || {};
      if (String(data.version) === version()) return;
      update();
    });
  };
  listen();
  // A page in the browser's memory must hold no connection; when it is shown again it catches up.
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    listen();
    update();
  });
}
