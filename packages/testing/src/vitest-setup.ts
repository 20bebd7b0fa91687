import { afterAll } from "vitest";
import { killLeftovers } from "./leftovers.ts";

// Registered first, so it runs after every hook of the test file.
afterAll(killLeftovers);
