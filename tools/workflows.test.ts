import { expect, test } from "vitest";
import { IMAGES } from "./release/images.ts";
import { readSources } from "./repository.ts";
import { runTool } from "./run-tool.ts";
import { workflowProblems } from "./workflows.ts";

const workflow = (step: string) =>
  `on: push\npermissions: { contents: read }\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - ${step}\n`;

test("accepts an action that is pinned to a commit", async () => {
  const text = workflow("uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2");
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([]);
});

test("reports an action that is pinned to a tag", async () => {
  const text = workflow("uses: actions/checkout@v4");
  expect(await workflowProblems([{ path: "a.yml", text }])).toEqual([
    "a.yml:7 actions/checkout@v4 is not pinned to a commit",
  ]);
});

test("accepts all workflows of this repository", async () => {
  expect(await workflowProblems(await readSources(".github/workflows/*"))).toEqual([]);
});

test("reports an unknown context", async () => {
  const text = workflow("run: echo $" + "{{ nothing.value }}");
  const problems = await workflowProblems([{ path: "a.yml", text }]);
  expect(problems).toEqual([expect.stringContaining('undefined variable "nothing"')]);
});

test("the time limits of the steps of .ci/run add up to at most 75 minutes", async () => {
  const [run] = await readSources(".ci/run");
  const limits = [...(run?.text ?? "").matchAll(/^.*\bwithin (\d+) /gm)].map(([, minutes]) => Number(minutes));
  expect(limits).toHaveLength(6);
  expect(limits.reduce((sum, minutes) => sum + minutes)).toBeLessThanOrEqual(75);
});

test.each([
  [124, "SIGTERM", 17 * 60, "ENDED AFTER 17 MINUTES: a step\n"],
  [137, "a SIGKILL after the limit", 18 * 60, "ENDED AFTER 17 MINUTES: a step\n"],
  [137, "a SIGKILL before the limit", 60, ""],
  [0, "no signal", 17 * 60, ""],
])(
  ".ci/run reports a step only if the step's time limit ended the step: exit code %i, %s",
  async (code, _, seconds, output) => {
    const [run] = await readSources(".ci/run");
    const [within = ""] = /^within\(\) \{$.*?^\}$/ms.exec(run?.text ?? "") ?? [];
    const fakeTimeout = `timeout() { SECONDS=$((SECONDS + ${seconds})); return ${code}; }`;
    const script = `${fakeTimeout}\n${within}\nwithin 17 a step || [ $? -eq ${code} ]`;
    expect(await runTool("bash", ["-euo", "pipefail", "-c", script])).toMatchObject({ isOk: true, stdout: output });
  },
);

test("the ci workflow runs every command of .ci/run", async () => {
  const [run] = await readSources(".ci/run");
  const [ci] = await readSources(".github/workflows/ci.yml");
  const steps = [...(run?.text ?? "").matchAll(/\bwithin \d+ (.+) \|\| /g)].map(([, step]) => String(step));
  expect(steps.length).toBeGreaterThan(3);
  const commands: Record<string, string> = {
    // .ci/run reads the command from the README.
    $test_command: "npx --yes pnpm@12 test",
    ".ci/images": "npx --yes pnpm@12 test:images",
  };
  for (const step of steps)
    expect(ci?.text.split("\n")).toContainEqual(expect.stringMatching(`run: ${commands[step] ?? step}$`));
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
