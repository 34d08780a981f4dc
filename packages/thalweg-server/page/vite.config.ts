import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "page/page.js",
        chunkFileNames: "page/[name].js",
        assetFileNames: "page/[name][extname]",
      },
    },
  },
});
