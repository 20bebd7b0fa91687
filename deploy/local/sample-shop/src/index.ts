export { type DemoSite, type DemoSiteOptions, policyFor, startDemoSite } from "./site.ts";
