import { create } from "@bufbuild/protobuf";
import { BotSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { nameBots } from "./bot-names.ts";

const bot = (slug: string, name: string) => create(BotSchema, { slug, display: { name } });

test("bots with the same name are told apart by their short names, and a bot without a name has its short name", () => {
  const bots = [bot("bread", "Bakery"), bot("cake", "Bakery"), bot("cars", "Garage"), bot("plain", "")];
  expect(nameBots(bots)).toEqual([
    ["bread", "Bakery (bread)"],
    ["cake", "Bakery (cake)"],
    ["cars", "Garage"],
    ["plain", "plain"],
  ]);
});
