import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { ResultsReporter } from "./tools/test-results.ts";

// The groups of tests, in the order in which they run. `pnpm test` runs the projects `unit`, `integration` and `contract`, `pnpm test:system` the other
// projects of groups 0 to 2, `pnpm test:extended` group 3, `pnpm test:faults` group 4, and `pnpm test:load` group 5.
// 0. Unit tests are beside the code. Most take milliseconds; some start a server. Chart tests (*.chart.test.ts) render the Helm chart.
// 1. Integration tests use a real PostgreSQL or Redis (*.db.test.ts), or take seconds because they start processes, threads or servers
//    (*.process.test.ts).
// 2. System tests (tests/) start the whole system and send HTTP requests to it. Those of the public interface and of the isolation of workspaces are
//    the project `contract`. Browser tests (tests/browser/) send the requests from a browser.
// 3. Extended tests (*.extended.test.ts) wait 5 s or more for a timer, install software, or check details of a screen or mechanism whose main path
//    and main failure are checked in groups 1 and 2.
// 4. Fault tests (*.fault.test.ts) stop processes and databases under load.
// 5. Load tests (*.load.test.ts) check times, memory or alerts, so no other test runs beside them.
// Three kinds of test files have configurations of their own: `pnpm test:images` (*.images.test.ts) tests the container images, `pnpm test:cluster`
// (*.cluster.test.ts) tests the chart on Kubernetes, and `pnpm pictures` (*.pictures.test.ts) takes the README's pictures.

/** The path for the results; undefined for none. */
const resultsFile = process.env.PARLEY_TEST_RESULTS;
/** With PARLEY_TEST_FULL=1, the tests of the whole system have larger loads and take longer. */
const systemTimeoutMs = process.env.PARLEY_TEST_FULL === "1" ? 1_200_000 : 60_000;

/** Settings that all projects share. */
const projectDefaults = {
  /** Chosen for two cores: tests spend much of their time waiting, so there are more workers than cores. */
  maxWorkers: 4,
  /** A worker runs all its files in one process, so that it loads shared modules once. Each file cleans up after itself. */
  isolate: false,
  /** Limit of `expect.poll`. A result of another process, a timer or a socket comes within milliseconds, but much later on a busy machine. */
  expect: { poll: { timeout: 10_000 } },
};
// The workers, and the processes that tests and global setups start, share a cache of compiled modules.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/parley/compiled", import.meta.url));

const CONTRACT_TESTS = ["tests/contract/contract.test.ts", "tests/isolation/isolation.test.ts"];

/** The slowest test files of groups 1 to 3. They start before the other files of their kind (browser tests, other tests), so that none ends last. */
const slowestFiles = [
  "packages/service-kit/src/database/preflight.db.test.ts",
  "services/edge/src/preflight.db.test.ts",
  "services/conversation/src/settlement/settler.db.test.ts",
  "services/llm-proxy/src/generation/generate.db.test.ts",
  "services/conversation/src/documents/reader-process/read-document.client.process.test.ts",
  "tests/contract/contract.test.ts",
  "tests/browser/console.browser.test.ts",
  "tests/resume/across-edges.test.ts",
  "tests/readme.test.ts",
  "tests/browser/accessibility.browser.test.ts",
  "tests/cli.test.ts",
  "tests/login.test.ts",
  "tests/usage-accounting/reconciliation.test.ts",
  "tests/browser/continuity.browser.test.ts",
  "tests/browser/playground.browser.test.ts",
  "tests/traces.test.ts",
  "tests/console/console.test.ts",
  "tests/isolation/isolation.test.ts",
  "tests/browser/errors.browser.test.ts",
  "tests/browser/configuration.browser.test.ts",
  "services/conversation/src/knowledge/document-limits.extended.test.ts",
  "tests/start.extended.test.ts",
  "tests/resume/across-edges.extended.test.ts",
  "tests/support/src/postgres.extended.test.ts",
  "services/conversation/src/documents/reader-process/read-document.client.extended.test.ts",
  "tests/browser/console-questions.extended.browser.test.ts",
  "tests/browser/console.extended.browser.test.ts",
  "tests/browser/accessibility.extended.browser.test.ts",
  "tests/browser/console-screens.extended.browser.test.ts",
  "tests/migrations/administrator.extended.test.ts",
  "tests/browser/console-roles.extended.browser.test.ts",
  "tests/usage-accounting/late-done.extended.test.ts",
  "tests/ops-ports/ops-ports.extended.test.ts",
].map((file) => fileURLToPath(new URL(file, import.meta.url)));

/**
 * Sorts the files by group, then the browser tests last, then the slowest first. Browser tests come last because each worker serves one project:
 * the next file of another project starts a new worker.
 */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const index = slowestFiles.indexOf(moduleId);
      const projectRank = project.config.sequence.groupOrder * 2 + (project.name.endsWith("browser") ? 1 : 0);
      return projectRank * 1_000 + (index === -1 ? slowestFiles.length : index);
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

// The projects of a group (`groupOrder`) run together.
export default defineConfig({
  test: {
    reporters: ["default", ...(resultsFile ? [new ResultsReporter(resultsFile)] : [])],
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          ...projectDefaults,
          name: "unit",
          sequence: { groupOrder: 0 },
          include: ["{packages,services,deploy,tools,bench,tests/support}/**/*.test.ts"],
          exclude: ["**/*.{db,process,extended,fault,load,browser,chart,images}.test.ts", "**/node_modules/**"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          // Some tests start servers, which takes seconds on a busy machine.
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "chart",
          sequence: { groupOrder: 0 },
          include: ["tools/**/*.chart.test.ts"],
          // Helm and tsc are Go programs that run for a second. Their garbage collector would take a quarter of their CPU time.
          env: { GOGC: "off" },
          testTimeout: 120_000,
          // The first run installs Helm.
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "integration",
          sequence: { groupOrder: 1 },
          include: ["{packages,services,deploy,tools,bench,tests/support}/**/*.{db,process}.test.ts"],
          globalSetup: ["tests/support/src/global-setup.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          // The processes that read documents have the lowest priority, so on a busy machine they take much longer.
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "contract",
          sequence: { groupOrder: 2 },
          include: CONTRACT_TESTS,
          globalSetup: ["tests/system/shared-system.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "system",
          sequence: { groupOrder: 2 },
          include: ["tests/**/*.test.ts"],
          exclude: [
            ...CONTRACT_TESTS,
            "**/*.{extended,fault,load,browser,images,pictures,cluster}.test.ts",
            "tests/support/**",
            "**/node_modules/**",
          ],
          globalSetup: ["tests/system/shared-system.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "browser",
          sequence: { groupOrder: 2 },
          include: ["tests/browser/**/*.browser.test.ts"],
          exclude: ["**/*.extended.*"],
          globalSetup: ["tests/browser/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "extended-integration",
          sequence: { groupOrder: 3 },
          include: ["{packages,services,deploy,bench}/**/*.extended.test.ts"],
          // This project has its own PostgreSQL server, because its tests set the passwords of the services' roles. All databases of a server share
          // the roles.
          globalSetup: ["tests/support/src/global-setup.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "extended-system",
          sequence: { groupOrder: 3 },
          include: ["tests/**/*.extended.test.ts"],
          globalSetup: ["tests/system/global-setup.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "extended-browser",
          sequence: { groupOrder: 3 },
          include: ["tests/browser/**/*.extended.browser.test.ts"],
          globalSetup: ["tests/browser/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "faults",
          sequence: { groupOrder: 4 },
          include: ["tests/**/*.fault.test.ts"],
          globalSetup: ["tests/system/global-setup.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...projectDefaults,
          name: "load",
          sequence: { groupOrder: 5 },
          fileParallelism: false,
          include: ["{packages,services,deploy,tools,bench,tests}/**/*.load.test.ts"],
          globalSetup: ["tests/system/global-setup.ts"],
          setupFiles: ["tests/support/src/vitest-setup.ts"],
          testTimeout: systemTimeoutMs,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
