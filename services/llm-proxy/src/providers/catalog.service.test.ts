import { expect, onTestFinished, test, vi } from "vitest";
import { parseSettings } from "../settings/parse.ts";
import { ProviderCatalog } from "./catalog.service.ts";

const settings = (text: string) => parseSettings(text, { defaultModel: undefined, readSecret: () => "k" });
const FILE = `
  default_model: route:main
  providers: { one: { base_url: http://127.0.0.1:1/v1 }, two: { base_url: http://127.0.0.1:2/v1 } }
  routes: { main: ["one:a", "two:b:c", "builtin:extractive"] }
`;
const catalogOf = (text: string) => new ProviderCatalog(settings(text), () => 0);
const models = (catalog: ProviderCatalog, requested: string) =>
  catalog.findCandidates(requested)?.map(({ model, name }) => [model, name]);

test("findCandidates returns the named model, the models of the named route in order, or for an empty name the candidates of default_model", () => {
  const catalog = catalogOf(FILE);
  const route = [
    ["one:a", "a"],
    ["two:b:c", "b:c"],
    ["builtin:extractive", "extractive"],
  ];
  expect(models(catalog, "two:any")).toEqual([["two:any", "any"]]);
  expect(models(catalog, "route:main")).toEqual(route);
  expect(models(catalog, "")).toEqual(route);
});

test("an unknown name has no candidates", () => {
  const catalog = catalogOf(FILE);
  for (const requested of ["three:x", "route:other", "route:constructor", "builtin:x", "one", "one:", "__proto__:x"]) {
    expect(catalog.findCandidates(requested)).toBeUndefined();
  }
});

test("new settings keep the state of an unchanged provider, and replace a changed one", async () => {
  const catalog = catalogOf(FILE);
  const [one, two] = catalog.providers;
  catalog.applySettings(settings(FILE.replace("127.0.0.1:2", "127.0.0.1:3")));
  expect(catalog.providers[0]).toBe(one);
  expect(catalog.providers[1]).not.toBe(two);
  expect(catalog.providers[1]?.settings).toMatchObject({ name: "two", baseUrl: "http://127.0.0.1:3/v1" });
  catalog.applySettings(settings("providers: {}"));
  expect(catalog.findCandidates("one:a")).toBeUndefined();
  expect(catalog.providers.map(({ settings: { name } }) => name)).toEqual(["builtin"]);
  await catalog.close();
});

test("a replaced provider stays open for six minutes, the longest duration of a generation", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const catalog = catalogOf(FILE);
  const [candidate] = catalog.findCandidates("two:b") ?? [];
  if (candidate === undefined) throw new Error("no candidate");
  const close = vi.spyOn(candidate.guardedProvider.provider, "close");
  catalog.applySettings(settings(FILE.replace("127.0.0.1:2", "127.0.0.1:3")));
  await vi.advanceTimersByTimeAsync(359_000);
  expect(close).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(close).toHaveBeenCalledTimes(1);
  await catalog.close();
});

test("closing the catalog also closes the providers that new settings replaced", async () => {
  const catalog = catalogOf(FILE);
  const replaced = catalog.providers[1];
  if (replaced === undefined) throw new Error("no provider");
  const close = vi.spyOn(replaced.provider, "close");
  catalog.applySettings(settings("providers: {}"));
  await catalog.close();
  expect(close).toHaveBeenCalledTimes(1);
});

test("the metrics' label of a model is its name if the settings name the model, and _OTHER otherwise", () => {
  const catalog = catalogOf(`
  default_model: route:main
  providers:
    one: { base_url: http://127.0.0.1:1/v1, prices: { priced: { input: 1, output: 2 } } }
    two: { base_url: http://127.0.0.1:2/v1 }
  routes: { main: ["one:a", "two:b:c"] }
`);
  const labelOf = (model: string) => {
    const [candidate] = catalog.findCandidates(model) ?? [];
    return candidate && catalog.getModelLabel(candidate);
  };
  const named = ["one:a", "two:b:c", "one:priced", "builtin:extractive"];
  expect(named.map(labelOf)).toEqual(["a", "b:c", "priced", "extractive"]);
  expect(["two:a", "one:anything", "two:priced"].map(labelOf)).toEqual(["_OTHER", "_OTHER", "_OTHER"]);
});
