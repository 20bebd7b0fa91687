export { figure } from "@parley/testing";
