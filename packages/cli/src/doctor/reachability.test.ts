import { expect, test } from "vitest";
import { type Attempt, checkConnections } from "./reachability.ts";

const attempt = (address: string, code = ""): Attempt => ({ address, code, ms: 3 });
const OPEN = attempt("203.0.113.1");

test("addresses that accept connections pass", () => {
  expect(checkConnections([OPEN, attempt("203.0.113.2")], 443)).toMatchObject({
    result: "pass",
    message: "port 443 accepts connections (3 ms)",
  });
});

test.each(["ENETUNREACH", "EADDRNOTAVAIL", "EHOSTUNREACH"])(
  "if one address accepts connections, addresses to which this machine has no route are reported as not checked (%s)",
  (code) => {
    const finding = checkConnections([OPEN, attempt("2001:db8::1", code)], 443);
    expect(finding).toEqual({
      check: "connection",
      result: "warn",
      message: `not checked: this machine has no route to 2001:db8::1 (${code})`,
    });
  },
);

test("addresses that refuse connections are reported beside those that are not checked", () => {
  const attempts = [OPEN, attempt("203.0.113.2", "ECONNREFUSED"), attempt("2001:db8::1", "ENETUNREACH")];
  expect(checkConnections(attempts, 443)).toMatchObject({
    result: "warn",
    message:
      "1 of 3 addresses do not accept connections: 203.0.113.2 (ECONNREFUSED); not checked: this machine has no route to 2001:db8::1 (ENETUNREACH)",
    fix: expect.stringMatching(/^remove from DNS the addresses that do not accept connections/),
  });
});

test("a failure names an address, preferably one to which this machine has a route", () => {
  const unrouted = attempt("2001:db8::1", "ENETUNREACH");
  expect(checkConnections([unrouted, attempt("203.0.113.2", "ECONNREFUSED")], 443)).toMatchObject({
    result: "fail",
    message: "port 443 of 203.0.113.2 refuses connections: nothing listens there",
  });
  expect(checkConnections([unrouted], 443)).toMatchObject({
    result: "fail",
    message: "port 443 of 2001:db8::1 does not accept connections (ENETUNREACH)",
    fix: "check the network route from this machine to 2001:db8::1",
  });
});
