import { testClock } from "@parley/test-support";
import { expect, test } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";

function setUp() {
  const clock = testClock(0);
  const breaker = new CircuitBreaker({ failures: 3, cooldownMs: 1_000 }, clock.now);
  /** Makes a call that ends with `verdict`. Returns whether the breaker admitted it. */
  const call = (verdict: "ok" | "fault" | "neutral") => {
    const reportVerdict = breaker.admit();
    reportVerdict?.(verdict);
    return reportVerdict !== undefined;
  };
  return { clock, breaker, call };
}

test("the breaker opens after consecutive faults, and refuses every request during the cooldown", () => {
  const { clock, breaker, call } = setUp();
  for (const verdict of ["fault", "fault", "ok", "fault", "fault"] as const) call(verdict);
  expect(breaker.state).toBe("closed");
  call("fault");
  expect(breaker.state).toBe("open");
  clock.advance(999);
  expect(call("ok")).toBe(false);
  clock.advance(1);
  expect(breaker.state).toBe("half_open");
});

test("a half-open breaker admits one request at a time, and the request's success closes the breaker", () => {
  const { clock, breaker, call } = setUp();
  for (let fault = 0; fault < 3; fault++) call("fault");
  clock.advance(1_000);
  const probe = breaker.admit();
  expect(probe).toBeDefined();
  expect(breaker.admit()).toBeUndefined();
  probe?.("ok");
  expect(breaker.state).toBe("closed");
  call("fault");
  call("fault");
  expect(breaker.state).toBe("closed");
});

test("a half-open breaker opens again after a fault, and stays half-open after a neutral verdict", () => {
  const { clock, breaker, call } = setUp();
  for (let fault = 0; fault < 3; fault++) call("fault");
  clock.advance(1_000);
  expect(call("neutral")).toBe(true);
  expect(breaker.state).toBe("half_open");
  expect(call("fault")).toBe(true);
  expect(breaker.state).toBe("open");
  clock.advance(999);
  expect(breaker.state).toBe("open");
});

test("requests admitted before the breaker opened neither close nor reopen it", () => {
  const { clock, breaker, call } = setUp();
  const [early, late] = [breaker.admit(), breaker.admit()];
  for (let fault = 0; fault < 3; fault++) call("fault");
  early?.("ok");
  expect(breaker.state).toBe("open");
  clock.advance(1_000);
  late?.("fault");
  expect(breaker.state).toBe("half_open");
});
