import { expect, test } from "vitest";
import { changelogSection, releaseProblems } from "./version.ts";

const packageJson = { path: "package.json", text: '{ "version": "1.2.0" }' };
const chart = { path: "charts/parley/Chart.yaml", text: "name: parley\nversion: 1.2.0\nappVersion: 1.2.0\n" };
const changelog = {
  path: "CHANGELOG.md",
  text: "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n- New.\n\n## [1.1.0]\n",
};
const files = { packageJson, chart, changelog };

test("releaseProblems accepts a tag if package.json, the chart and the changelog have its version", () => {
  expect(releaseProblems("v1.2.0", files)).toEqual([]);
});

test("releaseProblems refuses a tag that is not a version", () => {
  expect(releaseProblems("release-1", files)).toEqual(["the tag release-1 is not of the form v1.2.3"]);
});

test("releaseProblems names each file that lacks the tag's version", () => {
  expect(releaseProblems("v1.3.0", files)).toEqual([
    "package.json has version 1.2.0, but the tag has 1.3.0",
    "charts/parley/Chart.yaml has version 1.2.0, but the tag has 1.3.0",
    "charts/parley/Chart.yaml has appVersion 1.2.0, but the tag has 1.3.0",
    'the section "## [1.3.0]" of CHANGELOG.md is missing or empty: rename "## [Unreleased]"',
  ]);
});

test("changelogSection returns undefined for an empty section", () => {
  expect(changelogSection(changelog.text, "1.1.0")).toBeUndefined();
});

test("changelogSection returns a version's section without its heading", () => {
  expect(changelogSection(changelog.text, "1.2.0")).toBe("- New.");
});
