import { afterAll } from "vitest";
import { exitWithoutLeftovers, killLeftovers } from "./leftovers.ts";

// Registered first, so it runs after all other afterAll hooks of the test file.
afterAll(killLeftovers);

// After a failed hook Vitest runs no other hook and sends SIGTERM to the worker. This file runs once for each test file, so it replaces the
// handler of the file before.
process.off("SIGTERM", exitWithoutLeftovers).once("SIGTERM", exitWithoutLeftovers);
