export { type SampleShop, type SampleShopOptions, startSampleShop } from "./shop.ts";
