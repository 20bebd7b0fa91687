import { defineConfig } from "vitest/config";

// Three rings: unit tests beside the code need nothing; integration tests (*.db.test.ts) talk to a real PostgreSQL or
// Redis; tests/ starts the whole system and speaks HTTP to it.
const results = process.env.PARLEY_TEST_RESULTS;
/** A test of the system may take a minute; with the full figures, as long as those take. */
const systemTimeoutMs = process.env.PARLEY_TEST_FULL === "1" ? 1_200_000 : 60_000;

// The rings run one after the other: what measures time must not share two cores with what does not.
export default defineConfig({
  test: {
    reporters: ["default", ...(results ? [["json", { outputFile: results }] as ["json", object]] : [])],
    projects: [
      {
        test: {
          name: "unit",
          sequence: { groupOrder: 0 },
          include: ["{packages,services,deploy,bench}/**/*.test.ts"],
          exclude: ["**/*.{db,browser,chart,images}.test.ts", "**/node_modules/**"],
          setupFiles: ["packages/testing/src/vitest-setup.ts"],
        },
      },
      {
        test: {
          name: "chart",
          include: ["deploy/**/*.chart.test.ts"],
          testTimeout: 30_000,
          // Helm is fetched the first time.
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "integration",
          sequence: { groupOrder: 1 },
          include: ["{packages,services,deploy,bench}/**/*.db.test.ts"],
          globalSetup: ["packages/testing/src/global-setup.ts"],
          setupFiles: ["packages/testing/src/vitest-setup.ts"],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "system",
          sequence: { groupOrder: 2 },
          include: ["tests/**/*.test.ts"],
          exclude: ["**/*.{browser,images,pictures}.test.ts", "**/node_modules/**"],
          globalSetup: ["packages/testing/src/global-setup.ts"],
          setupFiles: ["packages/testing/src/vitest-setup.ts"],
          fileParallelism: false,
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "browser",
          sequence: { groupOrder: 3 },
          include: ["tests/browser/**/*.browser.test.ts"],
          globalSetup: ["tests/browser/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
