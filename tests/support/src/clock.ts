/** A clock that moves only when the test advances or sets it. */
export interface TestClock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  advance(ms: number): void;
  set(time: number | Date): void;
}

export function testClock(start: number | Date = Date.UTC(2026, 0, 1)): TestClock {
  let time = Number(start);
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
    },
    set: (to) => {
      time = Number(to);
    },
  };
}
