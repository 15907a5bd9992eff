/** True in the long form of the tests, `npm run test:all`. */
export const isWhole = process.env.TEST_ALL === '1'
