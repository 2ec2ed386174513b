"use strict";
// Edits of schema and hierarchies, by mouse and by keyboard, and pinned results. The server does what is asked for
// and sends the part anew.

const editor = document.getElementById("editor");
let editing = false;
let dragged = null;

async function asked(what, fields) {
  const answer = await fetch(what, { method: "POST", body: fields });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function edits(action, more) {
  const found = new URLSearchParams({ action, revision: place("edit-state")?.dataset.revision ?? "0" });
  for (const name of ["class", "role", "kind", "levels", "min", "max", "name", "file"])
    if (place("edit-" + name)) found.set(name, place("edit-" + name).value);
  found.set("node", editor.querySelector("[aria-selected=true]")?.dataset.node ?? "0");
  if (place(`edit-${action}-to`)) found.set("to", place(`edit-${action}-to`).value);
  for (const [name, value] of Object.entries(more)) found.set(name, value);
  return found;
}

async function edit(action, more = {}) {
  if (editing) return;
  editing = true;
  const focus = document.activeElement;
  const again = focus && editor.contains(focus) ? (focus.dataset.node !== undefined ? "tree" : focus.id) : "";
  const from = editor.querySelector(".edit-tree")?.scrollTop ?? 0;
  editor.setAttribute("aria-busy", "true");
  if (action === "apply") place("edit-note").textContent = "Reading the input again …";
  try {
    const found = await asked("edit", edits(action, more));
    if (found.reload) {
      location.reload();
      return;
    }
    if ("problem" in found) {
      place("edit-note").className = "problem";
      place("edit-note").textContent = found.problem;
    } else show(found.editor, again, from);
  } catch (problem) {
    if (place("edit-note")) place("edit-note").textContent = "The explorer does not answer; it may have been closed.";
  }
  editor.removeAttribute("aria-busy");
  editing = false;
}

function show(html, again, from) {
  editor.innerHTML = html;
  if (editor.querySelector(".edit-tree")) editor.querySelector(".edit-tree").scrollTop = from;
  const next = again === "tree" || !place(again) ? editor.querySelector("[aria-selected=true]") : place(again);
  if (again && next) next.focus({ preventScroll: true });
}

function item(event) {
  return event.target.closest?.("[data-node]");
}

function walk(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const all = [...editor.querySelectorAll("[data-node]")];
  const at = all.indexOf(item(event));
  if (at < 0) return;
  if (event.key in steps) {
    const next = all[Math.min(Math.max(at + steps[event.key], 0), all.length - 1)];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (event.key === "Enter" || event.key === " ") edit("show", { node: all[at].dataset.node });
  else return;
  event.preventDefault();
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
  if (dragged.moved) mark(under(event));
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
  if (action) edit(action, action === "show" ? { node: "0" } : {});
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
if (place("edit-panel")) edit("show");
