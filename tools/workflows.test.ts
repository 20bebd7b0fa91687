import { expect, test } from "vitest";
import { IMAGES } from "./release/images.ts";
import { readSources } from "./repository.ts";
import { runTool } from "./run-tool.ts";
import { PNPM, unpinnedPackages, workflowProblems } from "./workflows.ts";

const workflow = (step: string, job = "runs-on: ubuntu-latest", permissions = "{ contents: read }") =>
  `on: push\npermissions: ${permissions}\njobs:\n  test:\n    ${job}\n    steps:\n      - ${step}\n`;

test("accepts an action that is pinned to a commit", async () => {
  const text = workflow("uses: actions/setup-node@49933ea5288caeca8642d1e84afbd3f7d6820020 # v4.4.0");
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([]);
});

test("reports an action that is pinned to a tag", async () => {
  const text = workflow("uses: actions/setup-node@v4");
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([
    "a.yml:7 actions/setup-node@v4 is not pinned to a commit",
  ]);
});

test.each([
  "npx --yes pnpm@12 test",
  "npx --yes pnpm test",
  "npx pnpm@latest test",
  "npx --yes other@1.0.0",
  "npm exec pnpm@12",
])("reports a package that is not pinned: %s", async (command) => {
  expect(await workflowProblems([{ path: "a.yml", text: workflow(`run: ${command}`) }])).toEqual([
    expect.stringMatching(/^a\.yml:7 \S+ is not pnpm@12\.\d+\.\d+$/),
  ]);
});

test("the images are built with the pinned pnpm", async () => {
  const files = await readSources("deploy/docker/Dockerfile", "deploy/docker/install");
  expect(files).toHaveLength(2);
  expect(files.flatMap(unpinnedPackages)).toEqual([]);
  expect(files.filter(({ text }) => text.includes(PNPM))).toHaveLength(2);
});

const CHECKOUT = "uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683";
const WITHOUT_TOKEN = `{ ${CHECKOUT.replace("uses:", '"uses":')}, with: { persist-credentials: false } }`;
const job = (permissions: string) => `runs-on: ubuntu-latest\n    permissions: ${permissions}`;

test.each<[string, string, string]>([
  ["a token that may write in all jobs", workflow("run: echo", undefined, "{ contents: write }"), "to all jobs"],
  ["all permissions in all jobs", workflow("run: echo", undefined, "write-all"), "to all jobs"],
  ["no permissions in the workflow", workflow("run: echo").replace(/^permissions.*\n/m, ""), "to all jobs"],
  ["a token that stays after the checkout", workflow(CHECKOUT), "keeps the token"],
  ["a job that signs with pnpm", workflow(`run: npx --yes ${PNPM} x`, job("{ id-token: write }")), "may write or sign"],
  ["a job that signs with a script", workflow("run: ./sign.sh", job("{ id-token: write }")), "may write or sign"],
  ["a job that publishes with Node", workflow("run: node publish.js", job("write-all")), "may write or sign"],
  ["a job that publishes a checkout", workflow(WITHOUT_TOKEN, job("{ contents: write }")), "may write or sign"],
])("reports %s", async (_, text, problem) => {
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([expect.stringContaining(problem)]);
});

test("accepts a job that signs without code of the repository or of packages", async () => {
  const text = workflow("run: cosign sign --yes x", job("{ id-token: write }"));
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([]);
});

test("accepts all workflows of this repository", async () => {
  expect(await workflowProblems(await readSources(".github/workflows/*"))).toEqual([]);
});

test("reports an unknown context", async () => {
  const text = workflow("run: echo $" + "{{ nothing.value }}");
  const problems = await workflowProblems([{ path: "a.yml", text }]);
  expect(problems).toEqual([expect.stringContaining('undefined variable "nothing"')]);
});

test("without `all`, the time limits of the steps of .ci/run add up to at most 85 minutes", async () => {
  const [run] = await readSources(".ci/run");
  const limits = [...(run?.text ?? "").matchAll(/^ *step (?!extended|load)\w+ (\d+) /gm)].map(([, minutes]) =>
    Number(minutes),
  );
  expect(limits).toHaveLength(7);
  expect(limits.reduce((sum, minutes) => sum + minutes)).toBeLessThanOrEqual(85);
});

test.each([
  [124, "SIGTERM", 17 * 60, "ENDED AFTER 17 MINUTES: a step\na step (exit code 124)\n"],
  [137, "a SIGKILL after the limit", 18 * 60, "ENDED AFTER 17 MINUTES: a step\na step (exit code 137)\n"],
  [137, "a SIGKILL before the limit", 60, "a step (exit code 137)\n"],
  [75, "no Docker daemon", 60, "\n"],
  [0, "no signal", 17 * 60, "\n"],
])(".ci/run reports the time limit only if it ended the step: exit code %i, %s", async (code, _, seconds, output) => {
  const [run] = await readSources(".ci/run");
  const [step = ""] = /^declare -A failed.*?^\}$/ms.exec(run?.text ?? "") ?? [];
  const fakeTimeout = `timeout() { SECONDS=$((SECONDS + ${seconds})); return ${code}; }`;
  // The log of the step `null` is /dev/null.
  const script = `results=/dev logs=/dev\n${fakeTimeout}\n${step}\nstep null 17 a step\necho "\${failed[null]:-}"`;
  expect(await runTool("bash", ["-euo", "pipefail", "-c", script])).toMatchObject({ isOk: true, stdout: output });
});

test("the ci workflow runs every command of .ci/run", async () => {
  const [run] = await readSources(".ci/run");
  const [ci] = await readSources(".github/workflows/ci.yml");
  const steps = [...(run?.text ?? "").matchAll(/^ *step (?!repeat)\w+ \d+ (.+)$/gm)].map(([, step]) => String(step));
  expect(steps.length).toBeGreaterThan(3);
  const commands: Record<string, string> = {
    // .ci/run reads the command from the README.
    $test_command: "npx --yes pnpm@12 test",
    ".ci/images": "npx --yes pnpm@12 test:images",
  };
  const lines = ci?.text.replaceAll(PNPM, "pnpm@12").split("\n");
  for (const step of steps) expect(lines).toContainEqual(expect.stringMatching(`run: ${commands[step] ?? step}$`));
});

test("the release workflow sets every build argument of the Dockerfile", async () => {
  const [release, dockerfile] = await readSources(".github/workflows/release.yml", "deploy/docker/Dockerfile");
  const names = [...(dockerfile?.text ?? "").matchAll(/^ARG (\w+)/gm)].map(([, name]) => String(name));
  expect(names.length).toBeGreaterThan(3);
  for (const name of new Set(names)) expect(release?.text).toMatch(new RegExp(`^ {12}${name}=\\$`, "m"));
});

test("the release workflow builds exactly the images that tools/release/images.ts lists", async () => {
  const [release] = await readSources(".github/workflows/release.yml");
  expect(release?.text).toContain(`image: [${IMAGES.join(", ")}]`);
});
