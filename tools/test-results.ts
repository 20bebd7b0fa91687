// Reads the results of .ci/run's steps. Each step has a file in FOLDER, which ResultsReporter wrote.
//   test-results.ts failed-files FOLDER STEP…   prints the test files to repeat, or exits with 1 and the reason for repeating none
//   test-results.ts summary FOLDER              prints the failures, the flaky files and the numbers of passed and failed tests
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Reporter, SerializedError, TestSpecification } from "vitest/node";

const ROOT = join(import.meta.dirname, "..");
/** If more files fail, the cause is not chance. */
const MAX_REPEATED_FILES = 5;
const MAX_FAILURE_LENGTH = 2_000;
/** The step that repeats the failed files of the others. */
const REPETITION = "repeat";

/** A file failed if it has failures. Errors outside of all files have a result without `file`. */
export type FileResult = { file?: string; passed: number; failures: string[] };

/** Writes the results of all test files as JSON to `path`. */
export class ResultsReporter implements Reporter {
  readonly #path: string;
  #specifications: readonly TestSpecification[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#specifications = specifications;
  }

  onTestRunEnd(_modules: unknown, errors: readonly SerializedError[]): void {
    const results = this.#specifications.map(resultOf);
    for (const error of errors) {
      const failure = formatError(error);
      const owner = results.find(({ file }) => file !== undefined && namesFile(error, failure, file));
      // First, because the error of a crashed worker explains why the file did not finish.
      if (owner) owner.failures.unshift(failure);
      else results.push({ passed: 0, failures: [failure] });
    }
    writeFileSync(this.#path, JSON.stringify(results));
  }
}

function resultOf({ moduleId, testModule }: TestSpecification): FileResult {
  const suites = testModule ? [testModule, ...testModule.children.allSuites()] : [];
  const tests = testModule ? [...testModule.children.allTests()] : [];
  const failures = suites.flatMap((suite) => suite.errors().map(formatError));
  for (const test of tests) {
    const { state, errors } = test.result();
    if (state === "failed") failures.push(`${test.fullName}\n${errors.map(formatError).join("\n")}`);
  }
  const isFinished = testModule !== undefined && ["passed", "skipped"].includes(testModule.state());
  if (!isFinished && failures.length === 0) failures.push("the file did not finish");
  return {
    file: relative(ROOT, moduleId),
    passed: tests.filter((test) => test.result().state === "passed").length,
    failures,
  };
}

/** Returns the error and its causes with their stacks, without the frames of packages. */
function formatError({ stack, message, cause }: SerializedError): string {
  const lines = (stack ?? message).split("\n").filter((line) => !line.includes("/node_modules/"));
  return [...lines, ...(cause ? [formatError(cause)] : [])].join("\n");
}

/** The error of a crashed worker contains the file's path. Vitest adds VITEST_TEST_PATH to an error that no test caught. */
function namesFile(error: SerializedError, failure: string, file: string): boolean {
  return error.VITEST_TEST_PATH === join(ROOT, file) || failure.includes(join(ROOT, file));
}

const isFailed = ({ failures }: FileResult) => failures.length > 0;

/**
 * Returns the failed files of the failed steps. Throws an Error with the reason if they must not be repeated: a step has no results or failed
 * without a failed file, an error belongs to no file, or too many files failed.
 */
export function filesToRepeat(steps: readonly (readonly FileResult[])[]): string[] {
  if (!steps.every((results) => results.some(isFailed))) throw new Error("a step failed without a failed file");
  const failed = steps.flat().filter(isFailed);
  if (failed.length > MAX_REPEATED_FILES) throw new Error(`${failed.length} files failed`);
  return failed.map(({ file }) => {
    if (file === undefined) throw new Error("an error belongs to no file");
    return file;
  });
}

/** Returns the summary's lines. The second result of a repeated file replaces its first. */
export function summarize(first: readonly FileResult[], repeated: readonly FileResult[]): string[] {
  const isRepeated = ({ file }: FileResult) => file !== undefined && repeated.some((each) => each.file === file);
  const final = [...first.filter((result) => !isRepeated(result)), ...repeated];
  const failed = final.filter(isFailed);
  const flaky = first.filter((result) => isRepeated(result) && failed.every(({ file }) => file !== result.file));
  return [
    ...failed.flatMap(({ file = "an error outside of the test files", failures }) => [
      `FAILED: ${file}`,
      ...failures.map(formatFailure),
    ]),
    ...flaky.flatMap(({ file, failures }) => [
      `FLAKY: ${file} failed, and passed when it was repeated`,
      ...failures.slice(0, 1).map(formatFailure),
    ]),
    `${sum(final.map(({ passed }) => passed))} passed, ${sum(failed.map(({ failures }) => failures.length))} failed`,
  ];
}

function formatFailure(failure: string): string {
  return failure.slice(0, MAX_FAILURE_LENGTH).replaceAll(/^/gm, "  ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A step that its time limit ended has no results. */
function readResults(folder: string, step: string): FileResult[] {
  const path = join(folder, step);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as FileResult[]) : [];
}

function main([command, folder = "", ...failedSteps]: readonly string[]): void {
  if (command === "failed-files") {
    console.log(filesToRepeat(failedSteps.map((step) => readResults(folder, step))).join("\n"));
    return;
  }
  const steps = readdirSync(folder).filter((step) => step !== REPETITION);
  const first = steps.flatMap((step) => readResults(folder, step));
  console.log(summarize(first, readResults(folder, REPETITION)).join("\n"));
}

if (import.meta.main) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(`NOT REPEATED: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
