import { create } from "@bufbuild/protobuf";
import { BotSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { toBotNames, toBotOptions } from "./bot-names.ts";

const bot = (slug: string, name: string) => create(BotSchema, { slug, display: { name } });

test("adds the slug to a name that several bots have, and returns the slug for a bot without a name", () => {
  const bots = [bot("bread", "Bakery"), bot("cake", "Bakery"), bot("cars", "Garage"), bot("plain", "")];
  expect(toBotNames(bots)).toEqual([
    ["bread", "Bakery (bread)"],
    ["cake", "Bakery (cake)"],
    ["cars", "Garage"],
    ["plain", "plain"],
  ]);
});

test("the label in a menu is isolated from the direction of the page", () => {
  expect(toBotOptions([bot("cakes", "Cakes & Co.")])).toEqual([["cakes", "\u2068Cakes & Co.\u2069"]]);
});
