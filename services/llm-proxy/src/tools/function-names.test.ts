import { expect, test } from "vitest";
import { toFunctionNames } from "./function-names.ts";

const namesOf = (...tools: string[]) => [...toFunctionNames("shop", tools).values()];

test("replaces characters that providers refuse", () => {
  expect(namesOf("find", "orders.list", "a b")).toEqual(["shop__find", "shop__orders_list", "shop__a_b"]);
});

test("keeps names unique, and a tool's name independent of the list's order", () => {
  const names = namesOf("orders.list", "orders_list", "orders list", "заказ", "товар");
  expect(new Set(names).size).toBe(5);
  expect(names[1]).toBe("shop__orders_list");
  expect(toFunctionNames("shop", ["orders_list", "orders.list"]).get("orders.list")).toBe(names[0]);
});

test("shortens long names to 64 characters that are unique", () => {
  const long = "x".repeat(80);
  const names = namesOf(`${long}1`, `${long}2`, "y".repeat(58), "y".repeat(59));
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(new Set(names).size).toBe(4);
  expect(names[2]).toBe(`shop__${"y".repeat(58)}`);
});
