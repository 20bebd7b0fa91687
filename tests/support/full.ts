export { figure, isFull } from "@parley/testing";
