export { type DemoSite, type DemoSiteOptions, startDemoSite } from "./site.ts";
