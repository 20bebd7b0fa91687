export { figure, isFull } from "@parley/test-support";
