// What the page says to the daemon.
//
// A browser opens six connections to one address, for all of its tabs. So that a stop need not wait
// for one, all the rest of this page uses three: one read of the state, one of the picture, one act.
// A request that hangs is given up.

import { stamp } from "./fresh.js";

const READ_MS = 3000;
const ACT_MS = 20_000;
const STOP_MS = 3000;
const STORE = "armlabd-key";
const KEY = /^[\x21-\x7e]{1,200}$/;

export class Door {
  #key = "";
  #reads = new Map(); // lane -> AbortController of the read that is under way
  acting = false;

  constructor() {
    try {
      this.#key = sessionStorage.getItem(STORE) ?? "";
    } catch { /* storage is switched off: the key lives until the page is left */ }
  }

  get keyed() {
    return this.#key !== "";
  }

  // Keep a key for this tab; "" forgets it. False when no key looks like that.
  keep(key) {
    if (key !== "" && !KEY.test(key)) return false;
    this.#key = key;
    try {
      if (key) sessionStorage.setItem(STORE, key);
      else sessionStorage.removeItem(STORE);
    } catch { /* as above */ }
    return true;
  }

  // One read of a lane at a time; a new one ends the one before.
  async read(path, lane = "state", blob = false) {
    this.#reads.get(lane)?.abort();
    const ended = new AbortController();
    this.#reads.set(lane, ended);
    return this.#send("GET", path, { ms: READ_MS, ended, blob });
  }

  // What was asked before a sleep is of no use after it.
  dropReads() {
    for (const ended of this.#reads.values()) ended.abort();
  }

  // One act at a time; null while another is under way.
  async act(method, path, body, key = this.#key) {
    if (this.acting) return null;
    this.acting = true;
    try {
      return await this.#send(method, path, { ms: ACT_MS, body, key });
    } finally {
      this.acting = false;
    }
  }

  // At once, whatever else is under way. It is sent to its end even when the tab is closed.
  stop() {
    return this.#send("POST", "/stop", { ms: STOP_MS, more: { keepalive: true, priority: "high" } });
  }

  async #send(method, path, { ms, body, key = this.#key, ended = new AbortController(), blob = false, more = {} }) {
    const sent = stamp();
    const timer = setTimeout(() => ended.abort(), ms);
    const headers = { "X-API-Key": key };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    try {
      const answer = await fetch(path, {
        method, headers, body: body === undefined ? undefined : JSON.stringify(body),
        signal: ended.signal, cache: "no-store", credentials: "omit", redirect: "error",
        referrerPolicy: "no-referrer", ...more,
      });
      return await heard(answer, sent, blob);
    } catch (error) {
      const words = error.name === "AbortError"
        ? `The arm's daemon did not answer within ${ms / 1000} s.`
        : "The arm's daemon cannot be reached.";
      return { ok: false, status: 0, body: {}, words, sent, headers: new Headers() };
    } finally {
      clearTimeout(timer);
    }
  }
}

async function heard(answer, sent, blob) {
  const { ok, status, headers } = answer;
  if (ok && blob) return { ok, status, body: await answer.blob(), words: "", sent, headers };
  const body = await answer.json();
  const words = body.error ?? body.message ?? body.sentence ?? "";
  return { ok, status, body, words, sent, headers };
}
