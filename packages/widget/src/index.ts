export { type Asset, loadAssets, type Manifest, type ManifestFile, pickEncoding } from "./assets.ts";
