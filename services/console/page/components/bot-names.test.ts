import { create } from "@bufbuild/protobuf";
import { BotSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { nameBots } from "./bot-names.ts";

const bot = (slug: string, name: string) => create(BotSchema, { slug, display: { name } });

test("the short name follows a name that several bots have, and is shown instead of a missing name", () => {
  const bots = [bot("bread", "Bakery"), bot("cake", "Bakery"), bot("cars", "Garage"), bot("plain", "")];
  expect(nameBots(bots)).toEqual([
    ["bread", "Bakery (bread)"],
    ["cake", "Bakery (cake)"],
    ["cars", "Garage"],
    ["plain", "plain"],
  ]);
});
