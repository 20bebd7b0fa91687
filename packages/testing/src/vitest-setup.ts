import { afterAll } from "vitest";
import { killLeftovers } from "./leftovers.ts";

// Registered first, so it runs after every hook of the test file.
afterAll(killLeftovers);

// After a hook that failed no other is run, and the worker is told to end.
process.once("SIGTERM", () => {
  killLeftovers();
  process.exit(143);
});
