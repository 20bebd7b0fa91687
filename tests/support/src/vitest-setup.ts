import { afterAll } from "vitest";
import { endWithoutLeftovers, killLeftovers } from "./leftovers.ts";

// Registered first, so it runs after every hook of the test file.
afterAll(killLeftovers);

// After a hook that failed no other is run, and the worker is told to end. A worker comes here once for each of its files.
process.off("SIGTERM", endWithoutLeftovers).once("SIGTERM", endWithoutLeftovers);
