// pnpm release COMMAND: the steps of .github/workflows/release.yml that do not access the image registry.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { runHelm } from "../chart/helm.ts";
import { readSources } from "../repository.ts";
import { runTool } from "../run-tool.ts";
import { PNPM } from "../workflows.ts";
import { packageChart } from "./chart.ts";
import { checkImages, type Digests, IMAGES, readDigests } from "./images.ts";
import { changelogSection, type ReleaseFiles, releaseProblems } from "./version.ts";

const USAGE = `Prepare a release.

  release check TAG                        Check the versions and the changelog.
  release notes TAG                        Print the changelog section of TAG.
  release chart REGISTRY DIGESTS FOLDER    Package the chart with pinned images.
  release sbom FOLDER                      Write the bill of materials.
  release checksums FOLDER                 Write SHA256SUMS.
  release dry-run                          Run chart, sbom and checksums with made-up digests.

TAG is v1.2.3. DIGESTS is a folder with one file per image: ${IMAGES.join(", ")}.
`;

async function readReleaseFiles(): Promise<ReleaseFiles> {
  const paths = { packageJson: "package.json", chart: "charts/parley/Chart.yaml", changelog: "CHANGELOG.md" };
  const entries = Object.entries(paths).map(async ([name, path]) => [name, (await readSources(path))[0]] as const);
  return Object.fromEntries(await Promise.all(entries)) as ReleaseFiles;
}

async function check(tag: string): Promise<void> {
  const problems = releaseProblems(tag, await readReleaseFiles());
  if (problems.length > 0) throw new Error(problems.join("\n"));
  console.log(`${tag} can be released`);
}

async function notes(tag: string): Promise<void> {
  const { changelog } = await readReleaseFiles();
  const section = changelogSection(changelog.text, tag.replace(/^v/, ""));
  if (section === undefined) throw new Error(`the section of ${tag} in CHANGELOG.md is missing or empty`);
  console.log(section);
}

async function chart(registry: string, digestsFolder: string, folder: string): Promise<void> {
  console.log(await packageChart(folder, registry, await readDigests(digestsFolder)));
}

/** The software bill of materials lists the production dependencies of all packages. */
async function sbom(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const format of ["cyclonedx", "spdx"]) {
    const args = ["--yes", PNPM, "sbom", "--sbom-format", format, "--sbom-type", "application", "--prod"];
    const { isOk, stdout, stderr } = await runTool("npx", [...args, "--lockfile-only"]);
    if (!isOk) throw new Error(`pnpm sbom: ${stderr}`);
    const path = join(folder, `parley.${format}.json`);
    await writeFile(path, stdout);
    console.log(path);
  }
}

async function checksums(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== "SHA256SUMS").sort();
  const lines = names.map(async (name) => {
    const sum = createHash("sha256").update(await readFile(join(folder, name)));
    return `${sum.digest("hex")}  ${name}\n`;
  });
  await writeFile(join(folder, "SHA256SUMS"), (await Promise.all(lines)).join(""));
  console.log(join(folder, "SHA256SUMS"));
}

/** Packages the chart with made-up digests, checks that its containers use these digests, and writes the bills of materials and checksums. */
async function dryRun(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "parley-release-"));
  try {
    const digests = Object.fromEntries(IMAGES.map((image) => [image, madeUpDigest(image)])) as Digests;
    const registry = "registry.example.com";
    const path = await packageChart(folder, registry, digests);
    const values = ["--values", "charts/parley/ci/console-values.yaml"];
    const { code, output } = await runHelm("template", path, ...values);
    if (code !== 0) throw new Error(output);
    const containers = checkImages(output, registry, digests);
    console.log(`${basename(path)}: ${containers} containers, each with its image's digest`);
    await sbom(folder);
    await checksums(folder);
    console.log(await readFile(join(folder, "SHA256SUMS"), "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function madeUpDigest(image: string): string {
  return `sha256:${createHash("sha256").update(image).digest("hex")}`;
}

const COMMANDS: Record<string, { parameters: number; run: (...args: string[]) => Promise<void> }> = {
  check: { parameters: 1, run: check },
  notes: { parameters: 1, run: notes },
  chart: { parameters: 3, run: chart },
  sbom: { parameters: 1, run: sbom },
  checksums: { parameters: 1, run: checksums },
  "dry-run": { parameters: 0, run: dryRun },
};

const [name = "", ...args] = process.argv.slice(2);
const command = COMMANDS[name];
if (command?.parameters !== args.length) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  await command.run(...args).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
