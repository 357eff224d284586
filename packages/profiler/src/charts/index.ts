export { type Bar, type BarsOptions, barsFigure } from "./bars";
export { CategoryColors } from "./colors";
export { escapeHtml, figure, type WidthName } from "./figure";
export { type LineSeries, type LinesOptions, linesFigure } from "./lines";
export { type RooflineCeilings, type RooflinePoint, rooflineFigure } from "./roofline";
export { CHART_STYLE } from "./style";
export { type TrendOptions, type TrendPoint, trendFigure } from "./trend";
