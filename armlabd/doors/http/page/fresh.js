// How old is what is shown? The monotonic clock stands still while a laptop sleeps, the wall clock
// may be set: the larger of both is believed. An age that is too large only greys the page for a
// moment; one that is too small would show an old state as a new one.

export const stamp = () => ({ steady: performance.now(), wall: Date.now() });

export function ageMs(since) {
  if (since === null) return Infinity;
  return Math.max(0, performance.now() - since.steady, Date.now() - since.wall);
}

export function ageWords(ms) {
  if (ms === Infinity) return "nothing heard yet";
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s old`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s old`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min old` : `${Math.round(ms / 3_600_000)} h old`;
}
