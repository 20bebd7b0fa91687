import { afterAll } from "vitest";
import { killLeftovers, killLeftoversAndExit } from "./leftovers.ts";

// Runs after the test file's afterAll hooks, because it is registered before them and Vitest runs these hooks in reverse order.
afterAll(killLeftovers);

// If a hook fails, Vitest skips the remaining hooks and sends SIGTERM to the worker.
// This module runs once for each test file, so it first removes the handler of the previous file.
process.off("SIGTERM", killLeftoversAndExit).once("SIGTERM", killLeftoversAndExit);
