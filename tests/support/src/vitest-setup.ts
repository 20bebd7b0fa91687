import { afterAll } from "vitest";
import { killLeftovers, killLeftoversAndExit } from "./leftovers.ts";

// Registered first, so it runs after all other afterAll hooks of the test file.
afterAll(killLeftovers);

// If a hook fails, Vitest skips the remaining hooks and sends SIGTERM to the worker.
// This module runs once for each test file, so it first removes the handler of the previous file.
process.off("SIGTERM", killLeftoversAndExit).once("SIGTERM", killLeftoversAndExit);
