// Writing to the page. Text only, and only what changed: a button that is made anew between press
// and release loses its click, and a screen reader would read the same words again and again.

export const $ = (id) => document.getElementById(id);

const built = new WeakMap();

export function text(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

export function say(element, words, bad = false) {
  text(element, words);
  element.classList.toggle("bad", bad);
}

export function made(tag, className, words = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = words;
  return element;
}

// Fill `element` with build(data), an array of nodes, when `data` differs from the last time.
export function fill(element, data, build) {
  const key = JSON.stringify(data);
  if (built.get(element) === key) return false;
  built.set(element, key);
  element.replaceChildren(...build(data));
  return true;
}
