import type { Problems, SourceFile } from "../problems.ts";

/** The files whose versions must equal the version of the tag. */
export type ReleaseFiles = { packageJson: SourceFile; chart: SourceFile; changelog: SourceFile };

/** Returns the reasons why `tag` cannot be released. A tag is `v` followed by the version, for example v1.2.0. */
export function releaseProblems(tag: string, { packageJson, chart, changelog }: ReleaseFiles): Problems {
  const match = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag);
  if (!match) return [`the tag ${tag} is not of the form v1.2.3`];
  const [, version = ""] = match;
  const problems: string[] = [];
  const packageVersion = (JSON.parse(packageJson.text) as { version: string }).version;
  if (packageVersion !== version)
    problems.push(`${packageJson.path} has version ${packageVersion}, but the tag has ${version}`);
  for (const key of ["version", "appVersion"]) {
    const chartVersion = new RegExp(`^${key}: (.+)$`, "m").exec(chart.text)?.[1];
    if (chartVersion !== version) problems.push(`${chart.path} has ${key} ${chartVersion}, but the tag has ${version}`);
  }
  if (changelogSection(changelog.text, version) === undefined)
    problems.push(`the section "## [${version}]" of ${changelog.path} is missing or empty: rename "## [Unreleased]"`);
  return problems;
}

/** Returns the text of the version's section without its heading, or undefined if the section is missing or empty. */
export function changelogSection(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`[${version}]`));
  return section?.slice(section.indexOf("\n") + 1).trim() || undefined;
}
