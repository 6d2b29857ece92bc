package lakesmith;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NaNvl;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Keeps comparisons of float columns away from the statistics of files where these order values differently.
 *
 * <p>For Spark -0.0 equals 0.0, and NaN is greater than any number. Statistics and dictionaries of files have
 * -0.0 below 0.0, and leave NaN out. A pushed comparison with zero skips files with the other zero, and a
 * pushed "greater than" skips files with NaN. In such a comparison the column is replaced by nanvl(column,
 * column), which is the same value, and which no source accepts as a filter.
 */
public final class FloatComparisons extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectOptimizerRule(new NewRule());
        return BoxedUnit.UNIT;
    }

    private static final class NewRule extends AbstractFunction1<SparkSession, Rule<LogicalPlan>> {
        @Override
        public Rule<LogicalPlan> apply(SparkSession session) {
            return new ByValue();
        }
    }

    /** The optimizer's rule. It runs before filters are pushed to sources. */
    public static final class ByValue extends Rule<LogicalPlan> {
        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            return (LogicalPlan) plan.transformAllExpressions(new Rewritten());
        }
    }

    private static final class Rewritten extends AbstractPartialFunction<Expression, Expression> {
        @Override
        public boolean isDefinedAt(Expression expression) {
            return rewritten(expression) != expression;
        }

        @Override
        public <A extends Expression, B> B applyOrElse(A expression, Function1<A, B> otherwise) {
            Expression found = rewritten(expression);
            @SuppressWarnings("unchecked")
            B result = found == expression ? otherwise.apply(expression) : (B) found;
            return result;
        }
    }

    private static Expression rewritten(Expression expression) {
        if (expression instanceof In in && isFloatColumn(in.value())) {
            return new In(byValue(in.value()), in.list());
        }
        if (expression instanceof InSet in && isFloatColumn(in.child())) {
            return new InSet(byValue(in.child()), in.hset());
        }
        if (expression instanceof BinaryComparison comparison) {
            Expression left = comparison.left();
            Expression right = comparison.right();
            boolean isOdd = isOdd(comparison, right, true) || isOdd(comparison, left, false);
            if (isOdd && isFloatColumn(left)) {
                return compared(comparison, byValue(left), right);
            }
            if (isOdd && isFloatColumn(right)) {
                return compared(comparison, left, byValue(right));
            }
        }
        return expression;
    }

    /** Whether the statistics of a file may say no where Spark says yes. */
    private static boolean isOdd(BinaryComparison comparison, Expression side, boolean isRight) {
        if (!(side instanceof Literal literal) || !(literal.value() instanceof Number number)) {
            return false;
        }
        double value = number.doubleValue();
        boolean mayBeGreater = isRight
                ? comparison instanceof GreaterThan || comparison instanceof GreaterThanOrEqual
                : comparison instanceof LessThan || comparison instanceof LessThanOrEqual;
        return value == 0 || Double.isNaN(value) || mayBeGreater;
    }

    private static boolean isFloatColumn(Expression expression) {
        boolean isFloat = expression.dataType() instanceof DoubleType || expression.dataType() instanceof FloatType;
        Expression column = expression;
        while (column instanceof GetStructField field) {
            column = field.child();
        }
        return isFloat && column instanceof Attribute;
    }

    private static Expression byValue(Expression column) {
        return new NaNvl(column, column);
    }

    private static Expression compared(BinaryComparison as, Expression left, Expression right) {
        return (Expression) as.withNewChildren(
                scala.jdk.javaapi.CollectionConverters.asScala(java.util.List.of(left, right)).toSeq());
    }
}
