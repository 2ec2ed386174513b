"use strict";
// Sends the form whenever a setting moves, and inserts the parts that come back. A newer setting ends
// the older request; the server then ends its search.

const form = document.getElementById("settings");
const results = document.getElementById("results");
const place = (id) => document.getElementById(id);
const PAUSE = 120;
let request = null;
let timer = null;

function fields() {
  return new URLSearchParams(new FormData(form));
}

function put(parts) {
  for (const [id, html] of Object.entries(parts)) if (place(id)) place(id).innerHTML = html;
  if (!("records" in parts)) return;
  results.classList.remove("old");
  // There is room for trees side by side.
  if (innerWidth >= 1000) for (const one of results.querySelectorAll("#records details:has(> .sides)")) one.open = true;
}

async function look() {
  if (request) request.abort();
  const own = (request = new AbortController());
  results.classList.add("old");
  results.setAttribute("aria-busy", "true");
  place("status").textContent = "Searching …";
  try {
    const answer = await fetch("look", { method: "POST", body: fields(), signal: own.signal });
    if (!answer.ok) throw new Error(String(answer.status));
    await eachLine(answer.body, (line) => own === request && put(JSON.parse(line)));
    if (own === request) results.removeAttribute("aria-busy");
  } catch (problem) {
    if (own === request) place("status").textContent = "The explorer does not answer; it may have been closed. Start it again.";
  }
}

async function eachLine(stream, use) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.forEach(use);
  }
}

async function write() {
  const answer = await fetch("command", { method: "POST", body: fields() });
  place("command").value = await answer.text();
  place("command-box").hidden = false;
}

// What a search does not take cannot be moved, and is not sent.
function arrange() {
  const takes = form.algorithm.selectedOptions[0].dataset.takes.split(" ");
  for (const one of form.querySelectorAll("[data-needs]")) one.disabled = !takes.includes(one.dataset.needs);
  for (const one of form.querySelectorAll("[data-without]")) one.hidden = takes.includes(one.dataset.without);
  for (const one of form.querySelectorAll("[data-of]")) one.hidden = one.dataset.of !== form.algorithm.value;
  form.number.disabled = form.show.value !== "number";
  for (const one of form.querySelectorAll("output")) one.value = form.elements[one.htmlFor.value].value;
}

function moved() {
  arrange();
  clearTimeout(timer);
  timer = setTimeout(() => {
    look();
    if (!place("command-box").hidden) write();
  }, PAUSE);
}

form.addEventListener("input", moved);
form.addEventListener("submit", (event) => event.preventDefault());
place("write").addEventListener("click", async () => {
  await write();
  place("command").select();
});
place("copy").addEventListener("click", async () => {
  place("command").select();
  await navigator.clipboard.writeText(place("command").value);
  place("copy").textContent = "Copied";
});
arrange();
look();
