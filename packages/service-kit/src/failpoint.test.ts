import { expect, test } from "vitest";
import * as absent from "./failpoint.absent.ts";
import * as present from "./failpoint.ts";

test("an armed failpoint throws, and failpoints that are not armed do nothing", () => {
  present.armFailpoints("edge.opened=lose%100 quota.Reserve.after=lose%100");
  expect(() => present.failpoint("edge.opened")).toThrow("lost by a failpoint");
  expect(() => present.failpoint("parley.quota.v1.QuotaService/Reserve", "after")).toThrow("lost by a failpoint");
  expect(() => present.failpoint("parley.quota.v1.QuotaService/Reserve", "before")).not.toThrow();
  expect(() => present.failpoint("edge.closed")).not.toThrow();
});

test("armFailpoints throws for a malformed list", () => {
  expect(() => present.armFailpoints("edge.opened")).toThrow("not a failpoint");
});

test("failpoint.absent.ts, which replaces failpoint.ts in container images, exports the same functions, never fails a call, and refuses a list of failpoints", () => {
  expect(Object.keys(absent)).toEqual(Object.keys(present));
  expect(() => absent.failpoint("edge.opened")).not.toThrow();
  expect(() => absent.armFailpoints(undefined)).not.toThrow();
  expect(() => absent.armFailpoints("edge.opened=lose%100")).toThrow("no failpoints");
});
