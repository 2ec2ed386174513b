"use strict";
// Edits of schema and hierarchies, by mouse and by keyboard, and pinned results. The server does what is asked for
// and sends the part anew.

const editor = document.getElementById("editor");
const note = document.getElementById("edit-note");
const KEPT = "treeanon-editor";
let editing = false;
let dragged = null;
let later = null;

async function asked(what, fields) {
  const answer = await fetch(what, { method: "POST", body: fields });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

// Whatever has a name is sent; what it means, the server knows.
function edits(action, more) {
  const state = place("edit-state");
  const found = new URLSearchParams({ action, revision: state?.dataset.revision ?? "0", shown: state?.dataset.class ?? "" });
  for (const one of editor.querySelectorAll("[name]")) found.set(one.name, one.value);
  found.set("node", editor.querySelector("[aria-selected=true]")?.dataset.node ?? "0");
  if (place(`edit-${action}-to`)) found.set("to", place(`edit-${action}-to`).value);
  for (const [name, value] of Object.entries(more)) found.set(name, value);
  return found;
}

function tell(words, wrong = false) {
  note.className = wrong ? "problem" : "hint";
  note.textContent = words;
}

async function edit(action, more = {}) {
  clearTimeout(later);
  // One edit at a time, in their order: each knows of the one before.
  if (editing) {
    later = setTimeout(() => edit(action, more), PAUSE);
    return;
  }
  editing = true;
  editor.setAttribute("aria-busy", "true");
  if (action === "apply") tell("Reading the input again …");
  try {
    const found = await asked("edit", edits(action, more));
    if (found.reload) {
      const kept = { class: place("edit-class").value, file: place("edit-file").value, note: found.note };
      sessionStorage.setItem(KEPT, JSON.stringify(kept));
      location.reload();
      return;
    }
    show(found.editor, found.wrong);
    tell(found.note, found.wrong);
  } catch (problem) {
    tell("The explorer does not answer; it may have been closed.", true);
  }
  editor.removeAttribute("aria-busy");
  editing = false;
}

// The focus stays where it was, or goes to the first field that is wrong.
function show(html, wrong) {
  const focus = editor.contains(document.activeElement) ? document.activeElement : null;
  const again = focus && (focus.dataset.node !== undefined ? "tree" : focus.id);
  const from = editor.querySelector(".edit-tree")?.scrollTop ?? 0;
  const open = [...editor.querySelectorAll("details[open]")].map((one) => one.id);
  editor.innerHTML = html;
  for (const id of open) if (place(id)) place(id).open = true;
  const tree = editor.querySelector(".edit-tree");
  if (tree) tree.scrollTop = from;
  const marked = wrong && editor.querySelector("[aria-invalid]");
  const known = place(again) && !place(again).disabled ? place(again) : editor.querySelector("[aria-selected=true]");
  const next = marked || (again === "tree" ? editor.querySelector("[aria-selected=true]") : known);
  if (again) (next || place("edit-class")).focus({ preventScroll: !marked });
}

function item(event) {
  return event.target.closest?.("[data-node]");
}

function walk(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const all = [...editor.querySelectorAll("[data-node]")];
  const at = all.indexOf(item(event));
  if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const line = all[at].parentElement;
  let next = null;
  if (event.key in steps) next = all[Math.min(Math.max(at + steps[event.key], 0), all.length - 1)];
  else if (event.key === "ArrowLeft") next = line.parentElement.closest("li")?.querySelector("[data-node]");
  else if (event.key === "ArrowRight") next = line.querySelector("ul [data-node]");
  else if (event.key === "Enter" || event.key === " ") edit("show", { node: all[at].dataset.node });
  else if (event.key.length === 1) {
    // A letter goes to the next one that begins with it.
    const begins = (one) => one.innerText.toLowerCase().startsWith(event.key.toLowerCase());
    next = all.slice(at + 1).find(begins) ?? all.find(begins);
  } else return;
  event.preventDefault();
  if (!next) return;
  all[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// A node is dragged by mouse or pen; fingers scroll, and have the menu.
function under(event) {
  const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-group]");
  return found && editor.contains(found) && found !== dragged.item ? found : null;
}

function mark(home) {
  editor.querySelector(".over")?.classList.remove("over");
  home?.classList.add("over");
}

editor.addEventListener("pointerdown", (event) => {
  const node = item(event);
  if (node && event.button === 0 && event.pointerType !== "touch")
    dragged = { item: node, x: event.clientX, y: event.clientY, moved: false };
});
document.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  dragged.moved ||= Math.hypot(event.clientX - dragged.x, event.clientY - dragged.y) > 5;
  if (!dragged.moved) return;
  mark(under(event));
  // Near an end of a long tree, what lies beyond comes into sight.
  const tree = editor.querySelector(".edit-tree");
  const { top, bottom } = tree.getBoundingClientRect();
  tree.scrollTop += event.clientY < top + 30 ? -15 : event.clientY > bottom - 30 ? 15 : 0;
});
document.addEventListener("pointerup", (event) => {
  if (!dragged) return;
  const home = dragged.moved && under(event);
  const node = dragged.item.dataset.node;
  if (home) edit("move", { node, to: home.dataset.node });
  else if (!dragged.moved) edit("show", { node });
  mark(null);
  dragged = null;
});
document.addEventListener("pointercancel", () => {
  mark(null);
  dragged = null;
});
editor.addEventListener("keydown", walk);
editor.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) edit(button.dataset.do);
});
editor.addEventListener("change", (event) => {
  const action = event.target.dataset.do;
  clearTimeout(later);
  // Who chooses by keyboard goes past others.
  if (action) later = setTimeout(() => edit(action, event.target.id === "edit-class" ? { node: "0" } : {}), 2 * PAUSE);
});
// Return does in a field what the button beside it does.
editor.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  const buttons = [...editor.querySelectorAll("button[data-do]")];
  buttons.find((one) => event.target.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING)?.click();
});

async function pins(what, fields) {
  try {
    put(await asked(what, fields));
  } catch (problem) {
    place("status").textContent = "The explorer does not answer; it may have been closed. Start it again.";
  }
}

place("pin").addEventListener("click", () => pins("pin", fields()));
place("pins").addEventListener("click", (event) => {
  const at = event.target.dataset.unpin;
  if (at !== undefined) pins("unpin", new URLSearchParams({ pin: at })).then(() => place("pin").focus());
});
pins("unpin", new URLSearchParams());
if (place("edit-panel")) {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  sessionStorage.removeItem(KEPT);
  edit("show", kept).then(() => {
    if (!kept.note) return;
    tell(kept.note);
    place("edit-panel").open = true;
    editor.querySelector("#edit-class")?.focus();
  });
}
