// The form of an experiment: worlds to begin with, policies in rows, and the definition that they add up to.

import { readable } from "./chart.js";
import { key, refusal } from "./curves.js";

const offer = JSON.parse(document.getElementById("lab-offer").textContent);
const at = (id) => document.getElementById(id);
const OWN = "own";
const START = [
  ["Recommended", {}],
  ["SuccessiveElimination", { radius: "anytime" }],
  ["EpsilonGreedy", { leader: "information" }],
  ["Thompson", {}],
];
const DEFAULTS = { replications: 200, seed: 1 };
let numbered = 0;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function option(value, text) {
  return make("option", { value, textContent: text });
}

// What was typed: a number where it is one, else the text itself, for the service to say what is wrong with it.
function typed(text) {
  const bare = text.trim().replace(/[\s_]/g, "").replace("−", "-");
  return bare !== "" && Number.isFinite(Number(bare)) ? Number(bare) : text.trim();
}

function list(text) {
  return text.split(/[\s;]+|,\s*/).filter((part) => part !== "").map(typed);
}

// The world

export function preset() {
  return offer.presets.find((one) => one.key === at("preset").value);
}

function usePreset() {
  const chosen = preset();
  at("family-fields").hidden = !chosen || !chosen.family;
  at("preset-story").textContent = chosen ? chosen.story : "Type the means yourself: one number per arm.";
  if (!chosen) return;
  if (chosen.family) {
    at("arms").value = offer.family.arms;
    at("gap").value = offer.family.gap;
  }
  at("means").value = chosen.means.join(", ");
  at("b").value = at("b-range").value = chosen.b;
  at("sigma").value = chosen.sigma;
  at("c").value = 1;
  at("horizon").value = chosen.horizon;
  at("noise").value = "gaussian";
  showNoise();
  showMeans();
  showB();
}

let asked = 0;

// The service knows the families; what is not possible yet while somebody types is left alone.
async function useFamily() {
  const chosen = preset(), arms = typed(at("arms").value), gap = typed(at("gap").value);
  if (!chosen || !chosen.family || !Number.isInteger(arms) || typeof gap !== "number") return;
  const mine = ++asked;
  const answer = await fetch(`/laboratory/means?${new URLSearchParams({ family: chosen.family, arms, gap })}`);
  if (mine !== asked) return;
  if (!answer.ok) {
    complain(await refusal(answer));
    return;
  }
  forgive();
  at("means").value = (await answer.json()).means.join(", ");
  showMeans();
}

function showMeans() {
  const means = list(at("means").value), numbers = means.filter((mean) => typeof mean === "number");
  const hint = at("means-hint");
  if (means.length < 2 || numbers.length < means.length) {
    hint.textContent = "Two numbers at least, with commas between them.";
    return;
  }
  const best = Math.max(...means), gaps = means.map((mean) => best - mean).filter((gap) => gap > 0);
  const unit = preset() && !preset().family ? ` ${preset().unit} a period` : "";
  hint.textContent = gaps.length === 0
    ? `${means.length} arms, all alike: nothing can be lost.`
    : `${means.length} arms; the second best is ${readable(Math.min(...gaps))}${unit} below the best.`;
}

function showB() {
  const b = typed(at("b").value), words = at("b-words");
  if (typeof b !== "number" || b < 0 || b > 1) {
    words.textContent = "A number from 0 to 1.";
    return;
  }
  const half = 100 * 0.5 ** (2 - 2 * b), shown = half >= 99.95 ? "all" : `${half.toFixed(0)}%`;
  const side = b < 0.5 ? "too little: pool" : b > 0.5 ? "a lot: divide" : "exactly half: the turning point";
  words.textContent = `Half the resource shows ${shown} of what the whole would (${side}).`;
}

function showNoise(values) {
  const chosen = offer.noises.find((noise) => noise.name === at("noise").value);
  const names = Object.keys(chosen.parameters).filter((name) => name !== "name");
  at("noise-fields").replaceChildren(...names.map((name) => {
    const input = make("input", { type: "text", id: `noise-${name}`, value: (values || chosen.parameters)[name], autocomplete: "off" });
    input.dataset.noise = name;
    input.dataset.testid = `lab-noise-${name}`;
    const label = make("label", { htmlFor: input.id, textContent: name });
    return make("div", { className: "field" }, label, input);
  }));
}

// The policies

function parameterField(row, parameter, value) {
  const id = `policy-${row}-${parameter.name}`;
  const hint = make("p", { className: "hint", id: `${id}-hint`, textContent: parameter.hint });
  let input;
  if (parameter.kind === "choice") {
    input = make("select", { id }, ...parameter.options.map((name) => option(name, name)));
    input.value = value ?? parameter.default;
  } else if (parameter.kind === "flag") {
    input = make("input", { type: "checkbox", id, checked: value ?? parameter.default });
  } else {
    input = make("input", { type: "text", inputMode: parameter.kind === "text" ? "text" : "decimal", id, value: value ?? parameter.default ?? "", autocomplete: "off" });
  }
  input.dataset.parameter = parameter.name;
  input.dataset.kind = parameter.kind;
  input.dataset.testid = `lab-parameter-${parameter.name}`;
  input.setAttribute("aria-describedby", hint.id);
  const label = make("label", { htmlFor: id, textContent: { sigma: "σ" }[parameter.name] || parameter.name });
  if (parameter.kind === "flag") {
    label.className = "check";
    label.prepend(input);
    return make("div", { className: "field" }, label, hint);
  }
  return make("div", { className: "field" }, label, input, hint);
}

function describe(item, values) {
  const chosen = offer.policies.find((policy) => policy.name === item.querySelector("select").value);
  item.querySelector(".lab-rule").textContent = [chosen.rule, chosen.needs].filter(Boolean).join(" ");
  const details = item.querySelector("details"), fields = item.querySelector(".grid");
  details.hidden = chosen.parameters.length === 0;
  fields.replaceChildren(...chosen.parameters.map((one) => parameterField(item.dataset.row, one, (values || {})[one.name])));
  const set = Object.entries(values || {}).map(([name, value]) => `${name} ${value}`).join(", ");
  details.querySelector("summary").textContent = set ? `Parameters: ${set}` : "Parameters";
}

function addPolicy(name, values, focus) {
  const items = at("policies");
  if (items.children.length >= offer.limits.policies) return;
  const row = String(numbered++);
  const select = make("select", {}, ...offer.policies.map((policy) => option(policy.name, policy.name)));
  select.value = name;
  select.dataset.testid = "lab-policy";
  const remove = make("button", { type: "button", className: "quiet small", textContent: "Remove" });
  remove.dataset.testid = "lab-remove-policy";
  const head = make("div", { className: "lab-policy-head" }, make("span", { className: "lab-key-slot" }), select, remove);
  const details = make("details", {}, make("summary", { textContent: "Parameters" }), make("div", { className: "grid" }));
  const item = make("li", {}, head, make("p", { className: "hint lab-rule" }), details);
  item.dataset.row = row;
  select.addEventListener("change", () => { describe(item); renumber(); });
  remove.addEventListener("click", () => {
    item.remove();
    renumber();
    at("add-policy").focus();
  });
  items.append(item);
  describe(item, values);
  renumber();
  if (focus) select.focus();
}

function renumber() {
  const items = [...at("policies").children];
  items.forEach((item, index) => {
    item.querySelector(".lab-key-slot").replaceChildren(key(index));
    const name = item.querySelector("select").value;
    item.querySelector("select").setAttribute("aria-label", `Policy ${index + 1}`);
    const remove = item.querySelector("button");
    remove.setAttribute("aria-label", `Remove policy ${index + 1}, ${name}`);
    remove.disabled = items.length === 1;
  });
  const full = items.length >= offer.limits.policies;
  at("add-policy").disabled = full;
  at("policies-full").hidden = !full;
}

function nextPolicy() {
  const used = [...at("policies").querySelectorAll("select[data-testid=lab-policy]")].map((select) => select.value);
  return (offer.policies.find((policy) => !used.includes(policy.name)) || offer.policies[0]).name;
}

function readPolicy(item) {
  const parameters = {};
  for (const input of item.querySelectorAll("[data-parameter]")) {
    const known = offer.policies.find((policy) => policy.name === item.querySelector("select").value);
    const parameter = known.parameters.find((one) => one.name === input.dataset.parameter);
    const value = parameter.kind === "flag" ? input.checked : parameter.kind === "choice" ? input.value : typed(input.value);
    if (value !== "" && value !== parameter.default) parameters[parameter.name] = value;
  }
  return { name: item.querySelector("select").value, parameters };
}

// The whole

export function read() {
  const noise = { name: at("noise").value };
  for (const input of at("noise-fields").querySelectorAll("input")) noise[input.dataset.noise] = typed(input.value);
  const sigma = at("sigma").value;
  return {
    instance: {
      means: list(at("means").value), b: typed(at("b").value), c: typed(at("c").value),
      sigma: sigma.includes(",") ? list(sigma) : typed(sigma), noise,
    },
    policies: [...at("policies").children].map(readPolicy),
    horizon: typed(at("horizon").value),
    replications: typed(at("replications").value),
    seed: typed(at("seed").value),
    common: at("common").checked,
  };
}

export function fill(definition) {
  const world = definition.instance;
  const same = offer.presets.find((one) => JSON.stringify(one.means) === JSON.stringify(world.means));
  at("preset").value = same ? same.key : OWN;
  usePreset();
  at("means").value = world.means.join(", ");
  at("b").value = at("b-range").value = world.b;
  at("sigma").value = [world.sigma ?? 1].flat().join(", ");
  at("c").value = world.c ?? 1;
  at("noise").value = (world.noise && world.noise.name) || "gaussian";
  showNoise(world.noise);
  at("policies").replaceChildren();
  for (const policy of definition.policies) addPolicy(policy.name, policy.parameters || {});
  for (const name of ["horizon", "replications", "seed"]) at(name).value = definition[name];
  at("common").checked = Boolean(definition.common);
  showMeans();
  showB();
}

export function forgive() {
  at("lab-error").hidden = true;
  for (const input of at("lab-form").querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}

// Show a sentence, and lead to the field that it names.
export function complain(sentence) {
  const box = at("lab-error");
  // Names stand between backticks, as everywhere in the sentences of the package.
  box.replaceChildren(...sentence.split("`").map((part, index) => (index % 2 ? make("code", { textContent: part }) : part)));
  box.hidden = false;
  const named = (/`([a-z]+)[`[]/.exec(sentence) || [])[1];
  const own = [...at("policies").children].flatMap((item) =>
    sentence.startsWith(item.querySelector("select").value) ? [...item.querySelectorAll(`[data-parameter="${named}"]`)] : []);
  const field = own.find((input) => input.value !== "") || at(named) || at(`noise-${named}`);
  if (!field || !at("lab-form").contains(field)) return;
  if (field.closest("details")) field.closest("details").open = true;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

at("preset").append(...offer.presets.map((one) => option(one.key, one.title)), option(OWN, "Means of my own"));
at("noise").append(...offer.noises.map((noise) => option(noise.name, noise.title)));
at("preset").addEventListener("change", usePreset);
for (const id of ["arms", "gap"]) at(id).addEventListener("change", useFamily);
at("means").addEventListener("input", showMeans);
at("b").addEventListener("input", () => { at("b-range").value = typed(at("b").value); showB(); });
at("b-range").addEventListener("input", () => { at("b").value = at("b-range").value; showB(); });
at("noise").addEventListener("change", () => showNoise());
at("add-policy").addEventListener("click", () => addPolicy(nextPolicy(), {}, true));
for (const [name, value] of Object.entries(DEFAULTS)) at(name).value = value;
for (const [name, values] of START) addPolicy(name, values);
usePreset();
